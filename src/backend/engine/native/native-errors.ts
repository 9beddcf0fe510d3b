import { CatalogError, type ErrorName, invalidInput } from 'catalog-gateway/catalog-api'
import { hasErrorCode } from 'catalog-gateway/lib'

/** The message of the response is by default the cleaned first line of the engine's message. */
type ErrorRule = readonly [kind: ErrorName, pattern: RegExp, message?: string]

/**
 * The engine's errors differ only in their text, and some repeat text of the caller: those come first. A missing column
 * is InvalidInput, not TableColumnNotFound: LanceDB's clients report every 404 as a missing table.
 */
const errorRules: readonly ErrorRule[] = [
  ['InvalidInput', /sql parser error|Error parsing statement|No field named/i],
  // Clients retry a 503, and a retry would take as long.
  ['InvalidInput', /merge insert timed out/i, 'the merge timed out; use a longer timeout or fewer rows'],
  [
    'TableSchemaValidationError',
    /Duplicate field name|All-null columns must be nullable|Column .{1,200} already exists in the dataset|Type conflicts|Cannot cast column/is,
  ],
  [
    'TableIndexAlreadyExists',
    /Index name '.*' already exists/i,
    'another column has an index with this name; drop it first, or use another name',
  ],
  ['InvalidInput', /Unprocessable: |Ref is invalid: /],
  ['TableIndexNotFound', /index not found/i, 'the table has no such index'],
  ['TableTagAlreadyExists', /Ref conflict error: tag/i, 'the tag already exists'],
  ['TableTagNotFound', /Ref not found error: tag/i, 'the table has no such tag'],
  [
    'TableBranchNotFound',
    /Ref not found error: branch|Not found: [^,]*\/tree\/[^,]*\/_versions,/i,
    'the table has no such branch',
  ],
  [
    'InvalidInput',
    /Ref conflict error: branch .* is referenced/i,
    'other branches are based on the branch; delete them first',
  ],
  ['TableBranchAlreadyExists', /Ref conflict error: branch/i, 'the branch already exists'],
  [
    'ConcurrentModification',
    /commit conflict|Incompatible transaction: |Too many concurrent writers/i,
    'concurrent change of the table; retry',
  ],
  ['TableAlreadyExists', /(Table '.*'|Dataset) already exists/i, 'the table already has data'],
  [
    'TableVersionNotFound',
    /Version not found|_versions\/\d+\.manifest was not found/i,
    'the table has no such version',
  ],
  ['TableNotFound', /Table '.*' was not found|Dataset at path .* was not found/i, 'the table has no data'],
  [
    'TableSchemaValidationError',
    /does not exist in table schema|Cast error|different schema|Schema mismatch|contained null values|non-nullable/i,
  ],
  // Names may contain line breaks.
  ['InvalidInput', /column .{1,200} (not found|does not exist)|Field (path .*|'.*') not found/is],
  [
    'InvalidTableState',
    /Fragment \d+ does not contain any data/i,
    'the table has rows without a value in any of its columns; restore a version from before the columns were dropped',
  ],
  ['ServiceUnavailable', /Generic S3 error/, 'the object store is unavailable; retry later'],
  ['ServiceUnavailable', /Resources exhausted|Spill disk cap/i, 'the engine is out of memory'],
  ['ServiceUnavailable', /Operation timed out: /, 'the engine has taken too long; retry later'],
  [
    'Unsupported',
    /Version conflict error: /,
    'the table has files of a newer format than this catalog reads',
  ],
  [
    'InvalidInput',
    /must request at least one column/i,
    'the query reads no column; expected an expression that reads one',
  ],
  ['Unsupported', /not supported|not implemented|unsupported/i],
  ['TableSchemaValidationError', /LanceError\(Schema\)/],
  [
    'InvalidInput',
    /Error during planning|Invalid (user )?input|Invalid argument|Invalid data type|type_coercion|Schema error|Parser error|Ipc error|Arrow error|LanceError\(Arrow\)/i,
  ],
]

/** A failure of this machine, not of the upload. */
const storageFailure = /os error|LanceError\(IO\)|object store/i

const maxMessageLength = 300
/**
 * Longer texts are matched at their start and end, which takes quadratic time in the length: the middle repeats SQL of the
 * caller.
 */
const maxPartLength = 2000

/** Removes the paths, source positions and causes that the engine appends. Undefined for unknown errors. */
export function toEngineCatalogError(error: unknown): CatalogError | undefined {
  if (!isEngineError(error)) return undefined
  const { message: whole } = error
  const text =
    whole.length > 2 * maxPartLength
      ? `${whole.slice(0, maxPartLength)}...${whole.slice(-maxPartLength)}`
      : whole
  const rule = errorRules.find(([, pattern]) => pattern.test(text))
  if (rule === undefined) return undefined
  const [kind, pattern, message = cleanMessage(text, pattern)] = rule
  return new CatalogError(kind, message, { cause: error })
}

function isEngineError(error: unknown): error is Error {
  return hasErrorCode(error, 'GenericFailure')
}

/**
 * For calls that read an upload: it fails in many ways, so an unknown error is InvalidInput unless storage failed, and so is
 * a schema out of bounds.
 */
export async function withUploadErrors<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call()
  } catch (error) {
    const isUnknown = isEngineError(error) && toEngineCatalogError(error) === undefined
    if (!(error instanceof RangeError) && (!isUnknown || storageFailure.test(error.message))) throw error
    throw invalidInput('expected an Arrow IPC stream: the engine cannot read it', { cause: error })
  }
}

const enginePrefixes =
  /^((Failed to [a-z ]+|GenericFailure|lance error|LanceError\(\w+\)|Invalid (user )?input|Unprocessable|Query Execution error)[:,] )+/

/** Line breaks are escaped, because names and SQL of the caller may contain them. */
function cleanMessage(text: string, pattern: RegExp): string {
  const parts = text.split(/,\s?\/\S+\.rs:\d+(?::\d+)?| {2}Caused by:?/)
  const message = parts.find((part) => pattern.test(part)) ?? parts[0] ?? ''
  return message
    .trim()
    .replace(enginePrefixes, '')
    .replace(/(, location: | in (dataset )?schema:?\s(Field\(|\s?Schema )).*$/s, '')
    .replace(/, source\.__merge_source_sentinel/, '')
    .replaceAll(/\S*\/\S*/g, (word) => (/[\w.-]+\/[\w.-]+\//.test(word) ? '<path>' : word))
    .trim()
    .replaceAll(/\.\n(?=[A-Z])/g, '. ')
    .replaceAll(/[\n\v\f\r]/g, (lineBreak) => JSON.stringify(lineBreak).slice(1, -1))
    .slice(0, maxMessageLength)
    .trim()
}
