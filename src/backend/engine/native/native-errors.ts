import { CatalogError, invalidInput } from '../../../catalog-api/catalog-error.ts'
import type { ErrorName } from '../../../catalog-api/catalog-error.ts'

interface ErrorRule {
  readonly pattern: RegExp
  readonly kind: ErrorName
  /** The message of the response; by default the cleaned first line of the engine's message. */
  readonly message?: string
}

/** The engine's errors differ only in their text, and some repeat text of the caller: those come first. */
const errorRules: readonly ErrorRule[] = [
  { pattern: /sql parser error|Error parsing statement/i, kind: 'InvalidInput' },
  { pattern: /No field named/i, kind: 'TableColumnNotFound' },
  {
    // Clients retry a 503, and a retry would take as long.
    pattern: /merge insert timed out/i,
    kind: 'InvalidInput',
    message: 'the merge timed out; use a longer timeout or fewer rows',
  },
  {
    pattern:
      /Duplicate field name|Column .{1,200} already exists in the dataset|Type conflicts|Cannot cast column/i,
    kind: 'TableSchemaValidationError',
  },
  {
    pattern: /Index name '.*' already exists/i,
    kind: 'TableIndexAlreadyExists',
    message: 'an index with this name exists; drop it first, or use another name',
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
    pattern: /commit conflict|Incompatible transaction: /i,
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
    pattern: /column .{1,200} (not found|does not exist)|Field (path .*|'.*') not found/i,
    kind: 'TableColumnNotFound',
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
    pattern: /Resources exhausted/i,
    kind: 'ServiceUnavailable',
    message: 'the engine is out of memory',
  },
  { pattern: /not supported|not implemented|unsupported/i, kind: 'Unsupported' },
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

/** Like `withCatalogErrors`, but a missing column is InvalidInput: the SQL of the request is wrong. */
export async function withExpressionErrors<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call()
  } catch (error) {
    const failure = translateEngineError(error)
    throw failure.kind === 'TableColumnNotFound' ? invalidInput(failure.message, { cause: error }) : failure
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

function cleanMessage(text: string, pattern: RegExp): string {
  const lines = text.split('\n')
  const line = lines.find((one) => pattern.test(one)) ?? lines[0] ?? ''
  const [message = ''] = line.split(/, ?\/\S+\.rs:\d+| {2}Caused by/)
  return message
    .replace(/^Failed to [a-z ]+: /, '')
    .replace(/^GenericFailure, /, '')
    .replace(/ in (?:dataset )?schema:? (?:Field\(|Schema ).*$/, '')
    .replace(/^lance error: /, '')
    .replace(
      /^((LanceError\(\w+\)|Invalid user input|Invalid input|Unprocessable|Query Execution error)[:,] )+/,
      '',
    )
    .replace(/, location: .*$/, '')
    .replace(/, source\.__merge_source_sentinel/, '')
    .replaceAll(/\S*\/\S*/g, (word) => (/[\w.-]+\/[\w.-]+\//.test(word) ? '<path>' : word))
    .slice(0, maxMessageLength)
    .trim()
}
