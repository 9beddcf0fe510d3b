import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isNode, isSeq, LineCounter, parseDocument, visit, type Document, type Node } from 'yaml'
import { z } from 'zod'
import { apiKeyNameSchema, keyPrincipalSchema } from '../../config/index.ts'
import { fileStamp, getMembers, mapInSlices, validateTimestamp } from '../../lib/index.ts'
import { findTokenError } from '../../settings/index.ts'

const time = z
  .string('expected a time such as 2026-01-31T12:00:00Z')
  .refine(
    (text) => validateTimestamp(text) === undefined,
    'expected an existing time with zone, such as 2026-01-31T12:00:00Z',
  )

const keyId = z.string().regex(/^[0-9A-Za-z]{12}$/, 'expected 12 letters or digits')
/** Who created or revoked a key, as the command stated. */
const actorSchema = z
  .string()
  .regex(/^[^\p{C}]{1,128}$/u, 'expected 1 to 128 characters without control characters')

export const storedKeySchema = z
  .strictObject({
    id: keyId,
    principal: keyPrincipalSchema,
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
  .refine(
    ({ notBefore = '', expiresAt }) =>
      !(expiresAt !== undefined && Date.parse(expiresAt) <= Date.parse(notBefore)),
    { path: ['expiresAt'], message: 'expected a time after notBefore; the key would never be valid' },
  )

/** A stored API key: contains the hash of the secret, never the secret. Times are those of RFC 3339. */
export type StoredKey = z.output<typeof storedKeySchema>

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

/** The valid entries of key files, and the errors of the others. */
export interface UsableKeys {
  readonly keys: readonly StoredKey[]
  readonly problems: readonly string[]
}

/** A key store in YAML with one line for each key: it is read and changed without a YAML parser. */
export interface KeyLines {
  /** Comments above `keys:`. */
  readonly head: readonly string[]
  /** Lines below `keys:`, without newlines: keys, and comments. */
  readonly lines: readonly string[]
}

export interface KeyStore extends UsableKeys {
  /** Returns the lines of the file, converted if it is written otherwise. */
  readonly toLines: () => KeyLines
}

/**
 * Reads a file, or a folder of files (a mounted Secret). Rejects with ApiKeyStoreError with the errors of all files.
 */
export async function listKeys(path: string): Promise<readonly StoredKey[]> {
  const { keys, problems } = await readUsableKeys(path)
  if (problems.length > 0) throw new ApiKeyStoreError(problems)
  return keys
}

/**
 * Reads the valid entries of a file or a folder, and the errors of the others. Rejects with ApiKeyStoreError if a whole
 * file is invalid: it may say that a key is revoked.
 */
export async function readUsableKeys(path: string): Promise<UsableKeys> {
  const files = await listKeyFiles(path)
  if (files.length === 0) throw new ApiKeyStoreError([`${path}: the folder has no .yaml or .yml file`])
  const problems: string[] = []
  const invalidFiles: string[] = []
  const found = new Map<string, { readonly key: StoredKey; readonly file: string }>()
  const ambiguous = new Set<string>()
  for (const file of files) {
    const parsed = await parseKeyStore(await readFile(file, 'utf8'), file).catch((error: unknown) => {
      if (!(error instanceof ApiKeyStoreError)) throw error
      invalidFiles.push(...error.problems)
      return { keys: [], problems: [] }
    })
    problems.push(...parsed.problems)
    for (const key of parsed.keys) {
      const other = found.get(key.id)
      if (other !== undefined) {
        problems.push(`${file}: duplicate key ${key.id}, also in ${other.file}`)
        ambiguous.add(key.id)
      }
      found.set(key.id, { key, file })
    }
  }
  if (invalidFiles.length > 0) throw new ApiKeyStoreError([...problems, ...invalidFiles])
  return { keys: [...found.values()].flatMap(({ key }) => (ambiguous.has(key.id) ? [] : [key])), problems }
}

/** Returns a stamp that changes when a file of the store is changed, added or removed. */
export async function computeKeyFilesStamp(path: string): Promise<string> {
  const files = await listKeyFiles(path).catch(() => [])
  const stamps = await Promise.all(files.map(async (file) => `${file} ${await fileStamp(file)}`))
  return stamps.join('\n')
}

/** Lists the file itself, or the files of a folder except hidden ones, which Kubernetes uses internally. */
async function listKeyFiles(path: string): Promise<readonly string[]> {
  if (!(await stat(path)).isDirectory()) return [path]
  const names = (await readdir(path)).filter((name) => /^[^.].*\.ya?ml$/i.test(name))
  return names.toSorted().map((name) => join(path, name))
}

/**
 * Parses a key file, in slices. An entry with any error, be it an unknown member or a duplicate id, is left out, because
 * the error may be in its restriction. Rejects with ApiKeyStoreError if the document itself is invalid.
 */
export async function parseKeyStore(text: string, file: string): Promise<KeyStore> {
  const { value, formatPosition, toLines } = (await readKeyLines(text, file)) ?? readYaml(text, file)
  const { error } = entriesSchema.safeParse(value)
  const list = getMembers(value)['keys']
  const problems: { readonly path: readonly PropertyKey[]; readonly message: string }[] = [
    ...(error?.issues ?? []),
  ]
  const seen = new Set<unknown>()
  const ambiguous = new Set<unknown>()
  const parsed = await mapInSlices<unknown, StoredKey | undefined>(
    Array.isArray(list) ? list : [],
    (entry, index) => {
      const { data, error: invalid } = storedKeySchema.safeParse(entry)
      for (const { path, message } of invalid?.issues ?? [])
        problems.push({ path: ['keys', index, ...path], message })
      const { id } = getMembers(entry)
      if (id !== undefined && seen.has(id)) {
        ambiguous.add(id)
        problems.push({ path: ['keys', index, 'id'], message: 'duplicate id' })
      }
      seen.add(id)
      return data
    },
  )
  const texts = problems.map(({ path, message }) => `${formatPosition(path)}: ${formatPath(path)}${message}`)
  if (error !== undefined) throw new ApiKeyStoreError(texts)
  const keys = parsed.filter((key) => key !== undefined).filter(({ id }) => !ambiguous.has(id))
  return { keys, problems: texts, toLines }
}

/** Formats the path of a member as `keys[1].hash: `; empty for the whole file. */
export function formatPath(path: readonly PropertyKey[]): string {
  const parts = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
  return path.length === 0 ? '' : `${parts.join('').slice(1)}: `
}

interface StoreContent {
  readonly value: unknown
  /** Returns the file and the line of a member; for a missing one, those of the containing object. */
  readonly formatPosition: (path: readonly PropertyKey[]) => string
  readonly toLines: () => KeyLines
}

const keysLine = 'keys:'
const entryMark = '  - '
const comment = /^ *(?:#[^\p{C}]*)?$/u
/** Characters that YAML and JSON may read differently. */
const special = /[\p{C}\u2028\u2029]/u

/** Reads a store with one line for each key; undefined if it is written otherwise, and so needs a YAML parser. */
export async function readKeyLines(text: string, file: string): Promise<StoreContent | undefined> {
  const all = text.split('\n')
  const start = all.findIndex((line) => !comment.test(line))
  if (all[start] !== keysLine) return undefined
  if (all.at(-1) === '') all.pop()
  const lines = all.slice(start + 1)
  const parsed = await mapInSlices(lines, (line, index) => {
    if (comment.test(line)) return 'comment'
    const entry = parseKeyLine(line)
    return entry === undefined ? undefined : { entry, line: start + 2 + index }
  })
  const keys = parsed.filter((each) => each !== undefined && each !== 'comment')
  if (keys.length === 0 || parsed.includes(undefined)) return undefined
  return {
    value: { keys: keys.map(({ entry }) => entry) },
    formatPosition: ([, index]) => `${file}:${keys[Number(index)]?.line ?? 1}`,
    toLines: () => ({ head: all.slice(0, start), lines }),
  }
}

/**
 * Parses the line of a key; undefined if it is none. Accepts only JSON as `formatKeyLine` writes it, which means the same
 * in YAML: no member occurs twice.
 */
export function parseKeyLine(line: string): unknown {
  if (!line.startsWith(`${entryMark}{`) || special.test(line)) return undefined
  const json = line.slice(entryMark.length)
  try {
    const entry: unknown = JSON.parse(json)
    return JSON.stringify(entry) === json ? entry : undefined
  } catch {
    return undefined
  }
}

export function formatKeyLine(key: StoredKey): string {
  return entryMark + JSON.stringify(key)
}

export function formatKeyLines({ head, lines }: KeyLines): string {
  const list = lines.every((line) => comment.test(line)) ? [`${keysLine} []`, ...lines] : [keysLine, ...lines]
  return [...head, ...list, ''].join('\n')
}

function readYaml(text: string, file: string): StoreContent {
  const error = findTokenError(text)
  if (error !== undefined) throw new ApiKeyStoreError([`${file}:${error.line}: ${error.message}`])
  const lines = new LineCounter()
  // Pretty errors quote the file, and with it hashes or a misplaced key.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const formatOffset = (offset: number): string => `${file}:${lines.linePos(offset).line}`
  const errors = document.errors.map(({ pos, message }) => `${formatOffset(pos[0])}: ${message}`)
  visit(document, {
    // A shared value cannot be changed in one place only.
    Alias: (_key, { range }) =>
      void errors.push(`${formatOffset(range?.[0] ?? 0)}: expected a value instead of an alias`),
  })
  if (errors.length > 0) throw new ApiKeyStoreError(errors)
  return {
    value: document.toJS(),
    formatPosition(path) {
      const nodes = path.map((_, index) => document.getIn(path.slice(0, path.length - index), true))
      return formatOffset(nodes.find((node) => isNode(node))?.range?.[0] ?? 0)
    },
    toLines: () => convertToLines(document),
  }
}

/** Rewrites a store with one line for each key. Comments of a key move to lines above it. */
function convertToLines(document: Document): KeyLines {
  const list = document.get('keys')
  const items = isSeq(list) ? list.items : []
  return {
    head: [
      ...formatComments(document.commentBefore),
      ...listComments(document.contents, new Set(items)),
      ...formatComments(document.comment),
    ],
    lines: items.flatMap((item) =>
      isNode(item)
        ? [
            ...listComments(item).map((text) => `  ${text}`),
            formatKeyLine(storedKeySchema.parse(item.toJS(document))),
          ]
        : [],
    ),
  }
}

function listComments(root: Node | null, omitted: ReadonlySet<unknown> = new Set()): readonly string[] {
  const comments: string[] = []
  visit(root, (_key, node) => {
    if (omitted.has(node)) return visit.SKIP
    if (isNode(node)) comments.push(...formatComments(node.commentBefore), ...formatComments(node.comment))
    return undefined
  })
  return comments
}

function formatComments(text: string | null | undefined): readonly string[] {
  return text === null || text === undefined || text === ''
    ? []
    : text.split('\n').map((line) => (line === '' ? '' : `#${line}`))
}
