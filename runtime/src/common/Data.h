//===- Data.h - Batches for the steps -------------------------------------===//
//
// What a batch holds depends on (seed, step, global row) alone, so every mesh
// and layout trains on the same data. Training goes through shuffled epochs:
// rows are counted over the whole run, row r of step s being number
// s * rows + r, and an epoch is a random permutation of windows that lie side by
// side from a random offset (docs/data.md gives the formulas). Every token is
// seen once per epoch; rows drawn independently would miss 37 % of them.
// Evaluation walks over the validation part in order.
//
//===----------------------------------------------------------------------===//
#ifndef MESHRT_SRC_COMMON_DATA_H
#define MESHRT_SRC_COMMON_DATA_H

#include "Tokens.h"
#include "meshrt/program.h"

#include <memory>
#include <optional>

namespace meshrt {

enum class Split { Train, Validation };

/// The values of one batch's input, row-major over the global dims.
using Batch = std::vector<std::byte>;

class DataSet {
public:
  virtual ~DataSet() = default;

  /// Rows that evaluation can visit before it repeats itself.
  virtual int64_t evalRows(const Step &step) const = 0;

  /// Global values of `input`, for training step `index` or, on the validation
  /// part, for rows [index * batch, (index + 1) * batch) modulo evalRows.
  virtual Batch batch(const Step &step, const DataInput &input, Split split,
                      uint32_t seed, int64_t index) const = 0;

  /// How token ids read as text; none for other data.
  virtual const Vocabulary *vocabulary() const { return nullptr; }
};

/// Opens the program's data. `file`, `validationFile`: the flags --data and
/// --val, or empty. `characters`: the table of a loaded checkpoint, or empty.
/// Null if the program takes no data. Throws Error.
std::unique_ptr<DataSet> openData(const Program &program,
                                  const std::string &file,
                                  const std::string &validationFile,
                                  const std::string &characters);

/// Rows of one batch of `input`: microbatches times batch.
int64_t rowCount(const DataInput &input, const DataSource &source);

} // namespace meshrt

#endif // MESHRT_SRC_COMMON_DATA_H
