import { isNode, LineCounter, parseDocument, visit, type Document } from 'yaml'
import { z } from 'zod'
import { getMembers } from '../../lib/json/is-object.ts'
import { runAtOnce, type Steps } from '../../lib/async/run-in-slices.ts'
import { findTokenError } from '../../lib/yaml/yaml-tokens.ts'
import { convertToKeyLines, parseKeyLines, splitKeyLines, type KeyLines } from './key-lines.ts'
import { storedKeySchema, type StoredKey } from './stored-key.ts'

const storeSchema = z.strictObject({ keys: z.array(storedKeySchema) })
/** A document whose entries may be invalid. */
const entriesSchema = z.strictObject({ keys: z.array(z.unknown()) })

/** The store is invalid. `problems` lists each error with its file and line, and never contains a value. */
export class ApiKeyStoreError extends Error {
  override readonly name = 'ApiKeyStoreError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** The valid entries of a key file, and the errors of the others. */
export interface UsableKeys {
  readonly keys: readonly StoredKey[]
  readonly problems: readonly string[]
}

export interface KeyStore {
  readonly keys: readonly StoredKey[]
  /** The file, converted if it is written otherwise. */
  readonly text: KeyLines
}

/** Parses a key file; throws ApiKeyStoreError with all errors. */
export function parseKeyStore(text: string, file: string): KeyStore {
  const content = runAtOnce(readContent(text, file))
  const { keys, problems } = runAtOnce(selectUsableKeys(content))
  if (problems.length > 0) throw new ApiKeyStoreError(problems)
  return { keys, text: content.toLines(keys) }
}

/**
 * Parses the entries that are valid: an entry with any error, be it an unknown member or a duplicate id, is left out,
 * because the error may be in its restriction. Throws ApiKeyStoreError if the document itself is invalid.
 */
export function* parseUsableKeys(text: string, file: string): Steps<UsableKeys> {
  return yield* selectUsableKeys(yield* readContent(text, file))
}

/** Checks the keys in a value of the form `{"keys": [...]}`. Throws an error of the schema. */
export function checkStoredKeys(content: unknown): readonly StoredKey[] {
  return storeSchema.parse(content).keys
}

/** Checks one key. Throws ApiKeyStoreError with all errors. */
export function checkStoredKey(key: StoredKey): void {
  const { error } = storedKeySchema.safeParse(key)
  if (error === undefined) return
  throw new ApiKeyStoreError(error.issues.map(({ path, message }) => formatPath(path) + message))
}

interface StoreContent {
  readonly value: unknown
  /** Returns the file and the line of a member; for a missing one, those of the containing object. */
  readonly formatPosition: (path: readonly PropertyKey[]) => string
  readonly toLines: (keys: readonly StoredKey[]) => KeyLines
}

function* readContent(text: string, file: string): Steps<StoreContent> {
  const lines = splitKeyLines(text)
  const keys = lines && (yield* parseKeyLines(lines))
  if (lines === undefined || keys === undefined) return readYaml(text, file)
  return {
    value: { keys: keys.map(({ entry }) => entry) },
    formatPosition: ([, index]) => `${file}:${keys[Number(index)]?.line ?? 1}`,
    toLines: () => lines,
  }
}

function readYaml(text: string, file: string): StoreContent {
  const error = findTokenError(text)
  if (error !== undefined) throw new ApiKeyStoreError([`${file}:${error.line}: ${error.message}`])
  const lines = new LineCounter()
  // Pretty errors quote the file, and with it hashes or a misplaced key.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const formatOffset = (offset: number): string => `${file}:${lines.linePos(offset).line}`
  const errors = findSyntaxErrors(document)
  if (errors.length > 0) {
    throw new ApiKeyStoreError(errors.map(({ offset, message }) => `${formatOffset(offset)}: ${message}`))
  }
  return {
    value: document.toJS(),
    formatPosition: (path) => formatOffset(findOffset(document, path)),
    toLines: (keys) => convertToKeyLines(document, keys),
  }
}

function* selectUsableKeys({ value, formatPosition }: StoreContent): Steps<UsableKeys> {
  const { error } = entriesSchema.safeParse(value)
  const list = getMembers(value)['keys']
  const entries: readonly unknown[] = Array.isArray(list) ? list : []
  const problems: KeyStoreProblem[] = [...(error?.issues ?? [])]
  const keys: StoredKey[] = []
  for (const [index, entry] of entries.entries()) {
    yield
    const parsed = storedKeySchema.safeParse(entry)
    if (parsed.success) keys.push(parsed.data)
    else
      problems.push(
        ...parsed.error.issues.map(({ path, message }) => ({ path: ['keys', index, ...path], message })),
      )
  }
  const duplicates = findDuplicateIds(entries)
  problems.push(...duplicates)
  const texts = problems.map(({ path, message }) => `${formatPosition(path)}: ${formatPath(path)}${message}`)
  if (error !== undefined) throw new ApiKeyStoreError(texts)
  const ambiguous = new Set(duplicates.map(({ path }) => readId(entries[Number(path[1])])))
  return { keys: keys.filter(({ id }) => !ambiguous.has(id)), problems: texts }
}

/** Lists syntax errors. Includes aliases: a shared value cannot be changed in one place only. */
function findSyntaxErrors(
  document: Document.Parsed,
): { readonly offset: number; readonly message: string }[] {
  const errors = document.errors.map(({ pos, message }) => ({ offset: pos[0], message }))
  visit(document, {
    Alias(_key, { range }) {
      errors.push({ offset: range?.[0] ?? 0, message: 'expected a value instead of an alias' })
    },
  })
  return errors
}

interface KeyStoreProblem {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

function findDuplicateIds(entries: readonly unknown[]): KeyStoreProblem[] {
  const seen = new Set<unknown>()
  return entries.flatMap((entry, index) => {
    const id = readId(entry)
    const isDuplicate = id !== undefined && seen.has(id)
    seen.add(id)
    return isDuplicate ? [{ path: ['keys', index, 'id'], message: 'duplicate id' }] : []
  })
}

function readId(entry: unknown): unknown {
  return getMembers(entry)['id']
}

/** Returns the offset of a member in the file; for a missing one, that of the containing object. */
function findOffset(document: Document, path: readonly PropertyKey[]): number {
  for (let depth = path.length; depth > 0; depth--) {
    const node = document.getIn(path.slice(0, depth), true)
    if (isNode(node) && node.range) return node.range[0]
  }
  return 0
}

/** Formats the path of a member as `keys[1].hash: `; empty for the whole file. */
function formatPath(path: readonly PropertyKey[]): string {
  const parts = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
  return path.length === 0 ? '' : `${parts.join('').slice(1)}: `
}
