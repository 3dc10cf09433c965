// The grammar of the language; docs/language.md explains what it means.
//
// Every decision needs at most three tokens of lookahead, and chains (`a + b + c`, `f(x)(y)`) are loops, not recursion, so that the
// parser's stack and ANTLR's prediction stay bounded by the nesting of brackets. The words of `data`, `train`, `layout` ... blocks
// are not reserved: `name` admits them, because `data` and `model` are what everybody calls their mesh axes.
grammar Mesh;

file: decl* EOF;

decl
  : importDecl | dimDecl | constDecl | meshDecl | layoutDecl | fnDecl | modelDecl | dataDecl | trainDecl | evalDecl
  | reservedDecl | ';'
  ;

importDecl: 'import' (name | STRING) ('as' name)? ('(' setting (',' setting)* ')')?;
setting: name '=' expr;

dimDecl: 'dim' setting (',' setting)*;
constDecl: 'const' setting (',' setting)*;

meshDecl: 'mesh' name '[' (setting (',' setting)*)? ']';

//===--- layout ---===//

layoutDecl: 'layout' '{' layoutItem* '}';
layoutItem
  : 'microbatches' expr                                         # microbatchesItem
  | word=('schedule' | 'recompute' | 'offload') (name | STRING) # wordItem
  | 'state' '(' name ')' '->' nameList                          # stateItem
  | 'tensor' STRING ':' nameList '->' nameList                  # pinItem
  | (STRING ':')? nameList ('in' ruleScope)? '->' nameList      # ruleItem
  | ';'                                                         # emptyItem
  ;
ruleScope: name ('(' name ')')?;
nameList: name (',' name)*;

//===--- functions ---===//

fnDecl: 'fn' name '(' formals? ')' ('->' resultType)? (block | '=' expr);
modelDecl: 'model' name '(' formals? ')' ('->' resultType)? (block | '=' expr);
formals: leading=';'? formalGroup (separator formalGroup)*;
separator: ',' | ';';
formalGroup: formal formalClause* | formalClause+;
formalClause: clauseWord name '*'?;
formal: name '*'? shape? (':' type)? ('=' expr)?;

resultType: type | '(' type (',' type)* ')';
type: name shape? | shape;
shape: '[' (shapeItem (',' shapeItem)*)? ']';
shapeItem: '..' | name '*'? (':' expr)?;

//===--- statements ---===//

block: '{' stmt* '}';
stmt: letStmt | paramStmt | returnStmt | nextStmt | ifStmt | dimDecl | reservedStmt | ';';
letStmt: 'let' pattern '=' expr;
pattern: binder | '(' binder? (separator binder)* ')';
binder: name shape? (':' type)?;
paramStmt: 'param' paramDef (',' paramDef)*;
paramDef: name (':' name)? paramShape? ('~' expr)?;
paramShape: '[' (shapeItem (',' shapeItem)*)? ('->' shapeItem (',' shapeItem)*)? ']';
returnStmt: 'return' expr;
nextStmt: 'next' expr;
ifStmt: 'if' expr block ('else' (ifStmt | block))?;

//===--- data, train, eval ---===//

dataDecl: 'data' '{' (dataItem | ';')* '}';
dataItem: dataField (',' dataField)* 'from' expr;
dataField: name (':' type)?;

trainDecl: 'train' '{' trainItem* '}';
trainItem
  : 'loss' expr                         # lossItem
  | 'optimizer' '{' groupItem* '}'      # optimizerItem
  | letStmt                             # trainLet
  | 'clip' name expr                    # clipItem
  | 'precision' name                    # precisionItem
  | 'steps' expr                        # stepsItem
  | ';'                                 # emptyTrainItem
  ;
groupItem: (name | STRING) ':' expr ';'?;

evalDecl: 'eval' '{' (metricItem | letStmt | ';')* '}';
metricItem: 'metric' name '=' expr;

//===--- expressions, loosest binding first ---===//

expr: 'if' expr 'then' expr 'else' expr | orExpr;
orExpr: andExpr ('or' andExpr)*;
andExpr: notExpr ('and' notExpr)*;
notExpr: 'not'* compareExpr;
compareExpr: addExpr (op=('==' | '!=' | '<' | '<=' | '>' | '>=') addExpr)?;
addExpr: mulExpr (addOp mulExpr)*;
addOp: '+' | '-';
mulExpr: unaryExpr (mulOp unaryExpr)*;
mulOp: '*' | '/' | '%';
unaryExpr: '-'* powerExpr;
powerExpr: postfixExpr ('^' unaryExpr)?;
postfixExpr: primary suffix*;
suffix
  : '.' name                            # memberSuffix
  | '@' name                            # labelSuffix
  | '(' args? ')'                       # callSuffix
  | '[' indexItem (',' indexItem)* ']'  # indexSuffix
  ;
primary
  : INT | FLOAT | STRING | 'true' | 'false'
  | name
  | tupleExpr
  | repeatExpr
  ;
tupleExpr: '(' expr? (separator expr)* ')';
repeatExpr: 'repeat' name ('(' bindings? (';' bindings)? ')')? block;
bindings: binding (',' binding)*;
binding: name ('=' expr)?;

indexItem: name '=' expr (':' expr (':' expr)?)?;

// `dot(x, w over embed by expert = e)`: a clause's names may go on after commas; the AST builder gathers them, so that nothing
// here depends on how far.
args: argGroup (separator argGroup)*;
argGroup: arg clause* | clause+;
clause: clauseWord dimItem;
arg
  : name '->' dimItem                   # arrowArg
  | name '*'                            # starArg
  | name '=' expr                       # namedArg
  | expr                                # valueArg
  ;
dimItem: name '*'? ('=' expr)?;
clauseWord: 'over' | 'via' | 'by' | 'to' | 'into' | 'along';

//===--- room for what is not supported yet (refused by the AST builder) ---===//

reservedDecl: word=('names' | 'extern' | 'history') name soup?;
reservedStmt: (word=('state' | 'tally' | 'frozen' | 'history') (paramStmt | paramDef)) | name arrow='<-' expr;
soup: '{' (soupToken | soup)* '}';
soupToken: ~('{' | '}');

name
  : IDENT
  | 'model' | 'mesh' | 'layout' | 'data' | 'train' | 'eval' | 'loss' | 'optimizer' | 'clip' | 'precision' | 'steps' | 'metric'
  | 'microbatches' | 'schedule' | 'recompute' | 'offload' | 'state' | 'tensor' | 'in' | 'from' | 'as' | 'names' | 'extern'
  | 'history' | 'tally' | 'frozen'
  ;

IDENT: [a-zA-Z_] [a-zA-Z_0-9]* '\''*;
FLOAT: [0-9]+ '.' [0-9]+ EXPONENT? | [0-9]+ EXPONENT;
INT: [0-9]+;
STRING: '"' ~["\r\n]* '"';
fragment EXPONENT: [eE] [+-]? [0-9]+;

LINE_COMMENT: '//' ~[\r\n]* -> skip;
BLOCK_COMMENT: '/*' .*? '*/' -> skip;
SPACE: [ \t\r\n]+ -> skip;
UNFINISHED_STRING: '"' ~["\r\n]*;
UNFINISHED_COMMENT: '/*';
STRAY: .;
