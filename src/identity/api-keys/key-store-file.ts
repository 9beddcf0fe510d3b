import { isNode, LineCounter, parseDocument, visit, type Document } from 'yaml'
import { z } from 'zod'
import { apiKeyNameSchema } from '../../config/identity/api-key-name.ts'
import { validateTimestamp } from '../../lib/time/parse-timestamp.ts'
import { findTokenError } from '../../lib/yaml/yaml-tokens.ts'
import { getMembers } from '../../lib/json/is-object.ts'

const time = z
  .string('expected a time such as 2026-01-31T12:00:00Z')
  .refine(
    (text) => validateTimestamp(text) === undefined,
    'expected an existing time with zone, such as 2026-01-31T12:00:00Z',
  )

const keyId = z.string().regex(/^[0-9A-Za-z]{12}$/, 'expected 12 letters or digits')
/** Who created or revoked a key, as the command stated. */
export const actorSchema = z
  .string()
  .regex(/^[^\p{C}]{1,128}$/u, 'expected 1 to 128 characters without control characters')

const storedKeySchema = z.strictObject({
  id: keyId,
  principal: apiKeyNameSchema,
  groups: z.array(apiKeyNameSchema).default([]),
  /** Principal of a token or a certificate that may be combined with the key. */
  subject: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}:./, 'expected a name such as corp:alice')
    .optional(),
  hash: z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 hex digits'),
  /** Identifies the pepper of the hash; absent in stores of earlier versions. */
  pepper: z
    .string()
    .regex(/^[0-9a-f]{16}$/, 'expected 16 hex digits')
    .optional(),
  createdAt: time,
  createdBy: actorSchema.optional(),
  /** The key of which this one is the successor. */
  replaces: keyId.optional(),
  notBefore: time.optional(),
  expiresAt: time.optional(),
  revokedAt: time.optional(),
  revokedBy: actorSchema.optional(),
  description: z.string().optional(),
})
const storeSchema = z.strictObject({ keys: z.array(storedKeySchema) })
/** A document whose entries may be invalid. */
const entriesSchema = z.strictObject({ keys: z.array(z.unknown()) })

/** A stored API key: contains the hash of the secret, never the secret. Times are those of RFC 3339. */
export type StoredKey = z.output<typeof storedKeySchema>

/** The store is invalid. `problems` lists each error with its file and line, and never contains a value. */
export class ApiKeyStoreError extends Error {
  override readonly name = 'ApiKeyStoreError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

export interface KeyDocument {
  readonly document: Document
  readonly keys: readonly StoredKey[]
}

/** The valid entries of a key file, and the errors of the others. */
export interface UsableKeys {
  readonly keys: readonly StoredKey[]
  readonly problems: readonly string[]
}

/** Parses a key file; throws ApiKeyStoreError with all errors. */
export function parseKeyStore(text: string, file: string): KeyDocument {
  const { document, keys, problems } = parseUsableKeys(text, file)
  if (problems.length > 0) throw new ApiKeyStoreError(problems)
  return { document, keys }
}

/**
 * Parses the entries that are valid: an entry with any error, be it an unknown member or a duplicate id, is left out,
 * because the error may be in its restriction. Throws ApiKeyStoreError if the document itself is invalid.
 */
export function parseUsableKeys(text: string, file: string): UsableKeys & { readonly document: Document } {
  const error = findTokenError(text)
  if (error !== undefined) throw new ApiKeyStoreError([`${file}:${error.line}: ${error.message}`])
  const lines = new LineCounter()
  // Pretty errors quote the file, and with it hashes or a misplaced key.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const formatPosition = (offset: number): string => `${file}:${lines.linePos(offset).line}`
  const errors = findSyntaxErrors(document)
  if (errors.length > 0) {
    throw new ApiKeyStoreError(errors.map(({ offset, message }) => `${formatPosition(offset)}: ${message}`))
  }
  const content: unknown = document.toJS()
  const parsed = storeSchema.safeParse(content)
  const entries = entriesSchema.safeParse(content)
  const duplicates = findDuplicateIds(entries.data?.keys ?? [])
  const problems = [...(parsed.error?.issues ?? []), ...duplicates]
  const texts = problems.map(
    ({ path, message }) => `${formatPosition(findOffset(document, path))}: ${formatPath(path)}${message}`,
  )
  if (parsed.success && problems.length === 0) return { document, keys: parsed.data.keys, problems: [] }
  if (!entries.success) throw new ApiKeyStoreError(texts)
  const refused = new Set(problems.map(({ path }) => path[1]))
  const ambiguous = new Set(duplicates.map(({ path }) => readId(entries.data.keys[Number(path[1])])))
  const keys = entries.data.keys
    .filter((entry, index) => !refused.has(index) && !ambiguous.has(readId(entry)))
    .map((entry) => storedKeySchema.parse(entry))
  return { document, keys, problems: texts }
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
