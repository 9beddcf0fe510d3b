import { CatalogError, type ErrorName, invalidInput } from 'catalog-gateway/catalog-api'

interface ErrorRule {
  readonly pattern: RegExp
  readonly kind: ErrorName
  /** The message of the response; by default the cleaned first line of the engine's message. */
  readonly message?: string
}

/**
 * The engine's errors differ only in their text, and some repeat text of the caller: those come first. A missing column
 * is InvalidInput, not TableColumnNotFound: LanceDB's clients report every 404 as a missing table.
 */
const errorRules: readonly ErrorRule[] = [
  { pattern: /sql parser error|Error parsing statement/i, kind: 'InvalidInput' },
  { pattern: /No field named/i, kind: 'InvalidInput' },
  {
    // Clients retry a 503, and a retry would take as long.
    pattern: /merge insert timed out/i,
    kind: 'InvalidInput',
    message: 'the merge timed out; use a longer timeout or fewer rows',
  },
  {
    pattern:
      /Duplicate field name|All-null columns must be nullable|Column .{1,200} already exists in the dataset|Type conflicts|Cannot cast column/is,
    kind: 'TableSchemaValidationError',
  },
  {
    pattern: /Index name '.*' already exists/i,
    kind: 'TableIndexAlreadyExists',
    message: 'another column has an index with this name; drop it first, or use another name',
  },
  {
    pattern: /Not found: [^,]*\/tree\/[^,]*\/_versions,/,
    kind: 'TableBranchNotFound',
    message: 'the table has no such branch',
  },
  { pattern: /Unprocessable: /, kind: 'InvalidInput' },
  { pattern: /index not found/i, kind: 'TableIndexNotFound', message: 'the table has no such index' },
  { pattern: /Ref conflict error: tag/i, kind: 'TableTagAlreadyExists', message: 'the tag already exists' },
  { pattern: /Ref not found error: tag/i, kind: 'TableTagNotFound', message: 'the table has no such tag' },
  {
    pattern: /Ref not found error: branch/i,
    kind: 'TableBranchNotFound',
    message: 'the table has no such branch',
  },
  {
    pattern: /Ref conflict error: branch .* is referenced/i,
    kind: 'InvalidInput',
    message: 'other branches are based on the branch; delete them first',
  },
  {
    pattern: /Ref conflict error: branch/i,
    kind: 'TableBranchAlreadyExists',
    message: 'the branch already exists',
  },
  { pattern: /Ref is invalid: /, kind: 'InvalidInput' },
  {
    pattern: /commit conflict|Incompatible transaction: |Too many concurrent writers/i,
    kind: 'ConcurrentModification',
    message: 'concurrent change of the table; retry',
  },
  {
    pattern: /(Table '.*'|Dataset) already exists/i,
    kind: 'TableAlreadyExists',
    message: 'the table already has data',
  },
  {
    pattern: /Version not found|_versions\/\d+\.manifest was not found/i,
    kind: 'TableVersionNotFound',
    message: 'the table has no such version',
  },
  {
    pattern: /Table '.*' was not found|Dataset at path .* was not found/i,
    kind: 'TableNotFound',
    message: 'the table has no data',
  },
  {
    pattern:
      /does not exist in table schema|Cast error|different schema|Schema mismatch|contained null values|non-nullable/i,
    kind: 'TableSchemaValidationError',
  },
  {
    // Names may contain line breaks.
    pattern: /column .{1,200} (not found|does not exist)|Field (path .*|'.*') not found/is,
    kind: 'InvalidInput',
  },
  {
    pattern: /Fragment \d+ does not contain any data/i,
    kind: 'InvalidTableState',
    message:
      'the table has rows without a value in any of its columns; restore a version from before the columns were dropped',
  },
  {
    pattern: /Generic S3 error/,
    kind: 'ServiceUnavailable',
    message: 'the object store is unavailable; retry later',
  },
  {
    pattern: /Resources exhausted|Spill disk cap/i,
    kind: 'ServiceUnavailable',
    message: 'the engine is out of memory',
  },
  {
    pattern: /Operation timed out: /,
    kind: 'ServiceUnavailable',
    message: 'the engine has taken too long; retry later',
  },
  {
    pattern: /Version conflict error: /,
    kind: 'Unsupported',
    message: 'the table has files of a newer format than this catalog reads',
  },
  {
    pattern: /must request at least one column/i,
    kind: 'InvalidInput',
    message: 'the query reads no column; expected an expression that reads one',
  },
  { pattern: /not supported|not implemented|unsupported/i, kind: 'Unsupported' },
  { pattern: /LanceError\(Schema\)/, kind: 'TableSchemaValidationError' },
  { pattern: /Error during planning/i, kind: 'InvalidInput' },
  {
    pattern:
      /Invalid (user )?input|Invalid argument|Invalid data type|type_coercion|Schema error|Parser error|Ipc error|Arrow error|LanceError\(Arrow\)/i,
    kind: 'InvalidInput',
  },
]

/** A failure of this machine, not of the upload. */
const storageFailure = /os error|LanceError\(IO\)|object store/i

const maxMessageLength = 300
/** Longer texts are matched at their start and end: the middle repeats SQL of the caller. */
const maxScannedLength = 4000

/** Removes the paths, source positions and causes that the engine appends. Unknown errors become Internal. */
export function translateEngineError(error: unknown): CatalogError {
  if (error instanceof CatalogError) return error
  const text = truncateText(error instanceof Error ? error.message : String(error))
  const rule = errorRules.find(({ pattern }) => pattern.test(text))
  if (rule === undefined) return new CatalogError('Internal', 'the engine failed', { cause: error })
  return new CatalogError(rule.kind, rule.message ?? cleanMessage(text, rule.pattern), { cause: error })
}

/** The patterns take quadratic time in the length of the text. */
function truncateText(text: string): string {
  if (text.length <= maxScannedLength) return text
  return `${text.slice(0, maxScannedLength / 2)}...${text.slice(-maxScannedLength / 2)}`
}

export async function withCatalogErrors<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call()
  } catch (error) {
    throw translateEngineError(error)
  }
}

/** For calls that read an upload: it fails in many ways, so an unknown error is InvalidInput unless storage failed. */
export async function withUploadErrors<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call()
  } catch (error) {
    const failure = translateEngineError(error)
    if (failure.kind !== 'Internal' || storageFailure.test(String(failure.cause))) throw failure
    throw invalidInput('expected an Arrow IPC stream: the engine cannot read it', { cause: error })
  }
}

/** Line breaks are escaped, because names and SQL of the caller may contain them. */
function cleanMessage(text: string, pattern: RegExp): string {
  const parts = text.split(/,\s?\/\S+\.rs:\d+(?::\d+)?| {2}Caused by:?/)
  const message = parts.find((part) => pattern.test(part)) ?? parts[0] ?? ''
  return message
    .trim()
    .replace(/^Failed to [a-z ]+: /, '')
    .replace(/^GenericFailure, /, '')
    .replace(/ in (?:dataset )?schema:?\s(?:Field\(|\s?Schema ).*$/s, '')
    .replace(/^lance error: /, '')
    .replace(
      /^((LanceError\(\w+\)|Invalid user input|Invalid input|Unprocessable|Query Execution error)[:,] )+/,
      '',
    )
    .replace(/, location: .*$/s, '')
    .replace(/, source\.__merge_source_sentinel/, '')
    .replaceAll(/\S*\/\S*/g, (word) => (/[\w.-]+\/[\w.-]+\//.test(word) ? '<path>' : word))
    .trim()
    .replaceAll(/\.\n(?=[A-Z])/g, '. ')
    .replaceAll(/[\n\v\f\r]/g, (lineBreak) => JSON.stringify(lineBreak).slice(1, -1))
    .slice(0, maxMessageLength)
    .trim()
}
