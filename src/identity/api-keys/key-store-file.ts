import { isNode, LineCounter, parseDocument, visit, type Document } from 'yaml'
import { z } from 'zod'
import { apiKeyNameSchema } from '../../config/identity/api-key-name.ts'
import { findTooDeepLine, tooDeepMessage } from '../../lib/yaml/yaml-nesting.ts'

const time = z.iso.datetime({ offset: true, error: 'expected a time such as 2026-01-31T12:00:00Z' })

const storedKeySchema = z.strictObject({
  id: z.string().regex(/^[0-9A-Za-z]{12}$/, 'expected 12 letters or digits'),
  principal: apiKeyNameSchema,
  groups: z.array(apiKeyNameSchema).default([]),
  /** Principal of a token or a certificate that may be combined with the key. */
  subject: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}:./, 'expected a name such as corp:alice')
    .optional(),
  hash: z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 hex digits'),
  createdAt: time,
  notBefore: time.optional(),
  expiresAt: time.optional(),
  revokedAt: time.optional(),
  description: z.string().optional(),
})
const storeSchema = z.strictObject({ keys: z.array(storedKeySchema) })

/** A stored API key: contains the hash of the secret, never the secret. Times are ISO 8601. */
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

/** Parses a key file; throws ApiKeyStoreError with all errors. */
export function parseKeyStore(text: string, file: string): KeyDocument {
  const deepLine = findTooDeepLine(text)
  if (deepLine !== undefined) throw new ApiKeyStoreError([`${file}:${deepLine}: ${tooDeepMessage}`])
  const lines = new LineCounter()
  // Pretty errors quote the file, and with it hashes or a misplaced key.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const formatPosition = (offset: number): string => `${file}:${lines.linePos(offset).line}`
  const errors = findSyntaxErrors(document)
  if (errors.length > 0) {
    throw new ApiKeyStoreError(errors.map(({ offset, message }) => `${formatPosition(offset)}: ${message}`))
  }
  const parsed = storeSchema.safeParse(document.toJS())
  const problems = parsed.success ? findDuplicateIds(parsed.data.keys) : parsed.error.issues
  if (parsed.success && problems.length === 0) return { document, keys: parsed.data.keys }
  throw new ApiKeyStoreError(
    problems.map(
      ({ path, message }) => `${formatPosition(findOffset(document, path))}: ${formatPath(path)}${message}`,
    ),
  )
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

function findDuplicateIds(keys: readonly StoredKey[]): KeyStoreProblem[] {
  const seen = new Set<string>()
  return keys.flatMap(({ id }, index) => {
    const isDuplicate = seen.has(id)
    seen.add(id)
    return isDuplicate ? [{ path: ['keys', index, 'id'], message: 'duplicate id' }] : []
  })
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
