import { readFile } from 'node:fs/promises'
import { isNode, isSeq, LineCounter, parseDocument, visit, type Document } from 'yaml'
import { z } from 'zod'
import { checkPepper, hashSecret, makeApiKey, writeApiKey } from './api-key-text.ts'
import { replaceFile } from './replace-file.ts'

const header =
  ' API keys: written by "catalog-gateway keys". It holds no key, only what is needed to verify one.'

/** A principal or a group of API keys. No `:`, which only names that come from a token have. */
export const nameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/, 'expected 1 to 128 letters, digits, or any of . _ @ -')
const time = z.iso.datetime({ offset: true, error: 'expected a time such as 2026-01-31T12:00:00Z' })

const storedKeySchema = z.strictObject({
  id: z.string().regex(/^[0-9A-Za-z]{12}$/, 'expected 12 letters or digits'),
  principal: nameSchema,
  groups: z.array(nameSchema).default([]),
  hash: z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 hex digits'),
  createdAt: time,
  expiresAt: time.optional(),
  revokedAt: time.optional(),
  description: z.string().optional(),
})
const storeSchema = z.strictObject({ keys: z.array(storedKeySchema) })

/** An API key as the store holds it: never the secret, only its hash. Times are ISO 8601. */
export type StoredKey = z.output<typeof storedKeySchema>

/** Whom a new key stands for, and until when. */
export interface NewKey {
  readonly principal: string
  readonly groups: readonly string[]
  readonly expiresAt?: Date
  readonly description?: string
}

/**
 * The store cannot be used; `problems` names each fault with its file and line, none of them with a value.
 */
export class ApiKeyStoreError extends Error {
  override readonly name = 'ApiKeyStoreError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** The keys of a store; throws ApiKeyStoreError with all faults at once. */
export function parseKeyStore(text: string, file: string): readonly StoredKey[] {
  return parseStore(text, file).keys
}

/** The keys of the store at a path, also those that are revoked or have expired. */
export async function listKeys(path: string): Promise<readonly StoredKey[]> {
  return parseKeyStore(await readFile(path, 'utf8'), path)
}

/**
 * Adds a key to the store at a path, which is made if it is not there. The text of the key is returned here
 * and can never be had again.
 */
export async function createKey(
  path: string,
  pepper: Uint8Array,
  request: NewKey,
): Promise<{ readonly text: string; readonly key: StoredKey }> {
  checkPepper(pepper)
  const parts = makeApiKey()
  const key: StoredKey = {
    id: parts.id,
    principal: request.principal,
    groups: [...request.groups],
    hash: hashSecret(pepper, parts.secret).toString('hex'),
    createdAt: new Date().toISOString(),
    ...(request.expiresAt === undefined ? {} : { expiresAt: request.expiresAt.toISOString() }),
    ...(request.description === undefined ? {} : { description: request.description }),
  }
  await changeStore(path, ({ document }) => {
    const list = document.get('keys')
    // An empty list can only be written as `[]`; what follows reads better a line each.
    if (isSeq(list)) list.flow = false
    document.addIn(['keys'], document.createNode(key))
  })
  return { text: writeApiKey(parts), key }
}

/**
 * Revokes a key for good; a key that was revoked before keeps its time. Throws if the store has no such id.
 */
export async function revokeKey(path: string, id: string): Promise<void> {
  await changeStore(path, ({ document, keys }) => {
    const index = keys.findIndex((key) => key.id === id)
    const key = keys[index]
    if (key === undefined) throw new ApiKeyStoreError([`${path}: no key has the id that was given`])
    if (key.revokedAt === undefined) document.setIn(['keys', index, 'revokedAt'], new Date().toISOString())
  })
}

interface Store {
  readonly document: Document
  readonly keys: readonly StoredKey[]
}

/** Works on the document, so that comments of an operator stay; what it writes can be read again. */
async function changeStore(path: string, change: (store: Store) => void): Promise<void> {
  await replaceFile(path, (text) => {
    const store = parseStore(text ?? `#${header}\nkeys: []\n`, path)
    change(store)
    const changed = store.document.toString()
    parseStore(changed, path)
    return changed
  })
}

function parseStore(text: string, file: string): Store {
  const lines = new LineCounter()
  // Pretty errors quote the file, and with it hashes or a key that was pasted into the wrong place.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const at = (offset: number): string => `${file}:${lines.linePos(offset).line}`
  const faults = syntaxFaults(document)
  if (faults.length > 0) {
    throw new ApiKeyStoreError(faults.map(({ offset, message }) => `${at(offset)}: ${message}`))
  }
  const parsed = storeSchema.safeParse(document.toJS())
  const problems = parsed.success ? duplicateIds(parsed.data.keys) : parsed.error.issues
  if (parsed.success && problems.length === 0) return { document, keys: parsed.data.keys }
  throw new ApiKeyStoreError(
    problems.map(({ path, message }) => `${at(offsetOf(document, path))}: ${nameOf(path)}${message}`),
  )
}

/**
 * What keeps the text from being read. Aliases too: one value in two places cannot be changed in one of
 * them.
 */
function syntaxFaults(document: Document.Parsed): { readonly offset: number; readonly message: string }[] {
  const faults = document.errors.map(({ pos, message }) => ({ offset: pos[0], message }))
  visit(document, {
    Alias(_key, { range }) {
      faults.push({ offset: range?.[0] ?? 0, message: 'expected a value instead of an alias' })
    },
  })
  return faults
}

interface Problem {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

function duplicateIds(keys: readonly StoredKey[]): Problem[] {
  const seen = new Set<string>()
  return keys.flatMap(({ id }, index) => {
    const again = seen.has(id)
    seen.add(id)
    return again ? [{ path: ['keys', index, 'id'], message: 'another key above has the same id' }] : []
  })
}

/** Where a member stands in the file; for one that is missing, where the object that lacks it stands. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number {
  for (let depth = path.length; depth > 0; depth--) {
    const node = document.getIn(path.slice(0, depth), true)
    if (isNode(node) && node.range) return node.range[0]
  }
  return 0
}

/** `keys[1].hash: ` for the path of a member, nothing for the whole file. */
function nameOf(path: readonly PropertyKey[]): string {
  const parts = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
  return path.length === 0 ? '' : `${parts.join('').slice(1)}: `
}
