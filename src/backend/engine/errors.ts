import { InterfaceError, invalidInput } from '../../interface/errors.ts'
import type { ErrorName } from '../../interface/errors.ts'

interface Rule {
  readonly pattern: RegExp
  readonly kind: ErrorName
  /** What is answered; without it the first line of the engine's own message, cleaned. */
  readonly message?: string
}

/**
 * The engine tells its errors apart by their text alone, and repeats the caller's text in some: those come
 * first. The first rule that matches decides.
 */
const rules: readonly Rule[] = [
  { pattern: /sql parser error|Error parsing statement/i, kind: 'InvalidInput' },
  { pattern: /No field named/i, kind: 'TableColumnNotFound' },
  {
    pattern: /commit conflict/i,
    kind: 'ConcurrentModification',
    message: 'another writer changed the table at the same time; try again',
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
    pattern: /column .{1,200} (not found|does not exist)|Field path .* not found/i,
    kind: 'TableColumnNotFound',
  },
  {
    pattern: /Resources exhausted/i,
    kind: 'ServiceUnavailable',
    message: 'the engine has too little memory for this',
  },
  { pattern: /not supported|not implemented|unsupported/i, kind: 'Unsupported' },
  {
    pattern:
      /Invalid (user )?input|Invalid argument|Schema error|Parser error|Ipc error|Arrow error|LanceError\(Arrow\)/i,
    kind: 'InvalidInput',
  },
]

/** Trouble of this machine and not of the upload that was read. */
const storageTrouble = /os error|LanceError\(IO\)|object store/i

const longestMessage = 300

/**
 * The answer to an error of the engine: its message without the paths, source positions and chains of causes
 * that the engine appends. What no rule knows is Internal, and says nothing.
 */
export function toInterfaceError(error: unknown): InterfaceError {
  if (error instanceof InterfaceError) return error
  const text = error instanceof Error ? error.message : String(error)
  const rule = rules.find(({ pattern }) => pattern.test(text))
  if (rule === undefined) return new InterfaceError('Internal', 'the engine failed', { cause: error })
  return new InterfaceError(rule.kind, rule.message ?? cleanMessage(text), { cause: error })
}

/** Runs a call of the engine; what it throws becomes an InterfaceError. */
export async function guarded<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call()
  } catch (error) {
    throw toInterfaceError(error)
  }
}

/**
 * Runs a call of the engine that reads an upload. A damaged one makes the engine fail in ways without number,
 * many of them panics whose text is about the engine's own code; so what no rule knows is the upload's fault,
 * unless it is the storage that failed.
 */
export async function guardedUpload<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call()
  } catch (error) {
    const failure = toInterfaceError(error)
    if (failure.kind !== 'Internal' || storageTrouble.test(String(failure.cause))) throw failure
    throw invalidInput('expected an Arrow IPC stream: the engine cannot read it', { cause: error })
  }
}

function cleanMessage(text: string): string {
  const [line = ''] = text.split('\n')
  const [message = ''] = line.split(/, ?\/\S+\.rs:\d+| {2}Caused by/)
  return message
    .replace(/^Failed to [a-z ]+: /, '')
    .replace(/^GenericFailure, /, '')
    .replace(/ in schema Field\(.*$/, '')
    .replace(/^lance error: /, '')
    .replace(/^(LanceError\(\w+\)|Invalid user input|Invalid input|Query Execution error)[:,] /, '')
    .replaceAll(/\S*\/\S*/g, (word) => (/[\w.-]+\/[\w.-]+\//.test(word) ? '<path>' : word))
    .slice(0, longestMessage)
    .trim()
}
