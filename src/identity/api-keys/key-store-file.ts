import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isMap, isNode, isSeq, LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { apiKeyNameSchema, keyPrincipalSchema } from '../../config/index.ts'
import { findTokenError } from '../../settings/index.ts'
import { fileStamp, getMembers, mapInSlices, toError, validateTimestamp } from '../../lib/index.ts'

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
    /** The predecessor of this key. */
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

/**
 * Reads a file, or a folder of files (a mounted Secret). Rejects with the errors of all files, each with its file and line and
 * without a value: one may be in a restriction or a revocation.
 */
export async function listKeys(path: string): Promise<readonly StoredKey[]> {
  const files = await listKeyFiles(path)
  if (files.length === 0) throw new Error(`${path}: the folder has no .yaml or .yml file`)
  const problems: string[] = []
  const found = new Map<string, { readonly key: StoredKey; readonly file: string }>()
  for (const file of files) {
    const store = await parseKeyStore(await readFile(file, 'utf8'), file).catch(
      (error: unknown) => void problems.push(toError(error).message),
    )
    for (const key of store ? listStoredKeys(store) : []) {
      const other = found.get(key.id)
      if (other !== undefined) problems.push(`${file}: duplicate key ${key.id}, also in ${other.file}`)
      found.set(key.id, { key, file })
    }
  }
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return [...found.values()].map(({ key }) => key)
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

/** A key store: YAML with a line of JSON for each key, so that it is read and changed without a YAML parser. */
export interface KeyStore {
  /** Comments above `keys:`. */
  readonly head: readonly string[]
  /** Below `keys:`; texts are comments. */
  readonly lines: readonly (StoredKey | string)[]
}

export function listStoredKeys({ lines }: KeyStore): readonly StoredKey[] {
  return lines.filter((line) => typeof line !== 'string')
}

interface ReadStore {
  readonly head: readonly string[]
  /** Comments, and entries with their numbers in the file. */
  readonly lines: readonly (string | { readonly number: number; readonly entry: unknown })[]
}

/**
 * Parses a key file, in slices. Of a file in other YAML than the commands write, comments are left out. Rejects with
 * all errors in it, each with its line and without a value.
 */
export async function parseKeyStore(text: string, file: string): Promise<KeyStore> {
  const { head, lines } = (await readLines(text)) ?? readYaml(text, file)
  const problems: string[] = []
  const seen = new Set<unknown>()
  const parsed = await mapInSlices(lines, (line) => {
    if (typeof line === 'string') return line
    const { number, entry } = line
    const { data: key, error } = storedKeySchema.safeParse(entry)
    const add = (problem: string): number => problems.push(`${file}:${number}: ${problem}`)
    for (const { path, message } of error?.issues ?? []) add(`${formatPath(path)}${message}`)
    const { id } = getMembers(entry)
    if (id !== undefined && seen.has(id)) add('id: duplicate id')
    seen.add(id)
    return key ?? ''
  })
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return { head, lines: parsed }
}

const entryMark = '  - '
const [someKeys, noKeys] = ['keys:', 'keys: []']
const comment = /^ *(?:#[^\p{C}]*)?$/u
/** Characters that YAML and JSON may read differently. */
const special = /[\p{C}\u2028\u2029]/u

/** Reads a store with one line for each key; undefined if it is written otherwise, and so needs a YAML parser. */
async function readLines(text: string): Promise<ReadStore | undefined> {
  const all = text.replace(/\n$/, '').split('\n')
  const start = all.findIndex((line) => !comment.test(line))
  if (all[start] !== someKeys) return undefined
  const lines = await mapInSlices(all.slice(start + 1), (text, index) => {
    return comment.test(text) ? text : { number: start + 2 + index, entry: parseKeyLine(text) }
  })
  const entries = lines.filter((line) => typeof line !== 'string')
  if (entries.length === 0 || entries.some(({ entry }) => entry === undefined)) return undefined
  return { head: all.slice(0, start), lines }
}

/**
 * Parses the line of a key; undefined if it is none. Accepts only JSON as `toKeyLine` writes it, which means the same in
 * YAML: no member occurs twice.
 */
function parseKeyLine(line: string): unknown {
  if (!line.startsWith(`${entryMark}{`) || special.test(line)) return undefined
  const json = line.slice(entryMark.length)
  try {
    const entry: unknown = JSON.parse(json)
    return JSON.stringify(entry) === json ? entry : undefined
  } catch {
    return undefined
  }
}

function readYaml(text: string, file: string): ReadStore {
  const error = findTokenError(text)
  if (error !== undefined) throw new Error(`${file}:${error.line}: ${error.message}`)
  const positions = new LineCounter()
  // Pretty errors quote the file, and with it hashes or a misplaced key.
  const document = parseDocument(text, { lineCounter: positions, prettyErrors: false })
  const toNumber = (offset = 0): number => positions.linePos(offset).line
  const errors = document.errors.map(({ pos, message }) => `${file}:${toNumber(pos[0])}: ${message}`)
  if (errors.length > 0) throw new Error(errors.join('\n'))
  const { contents } = document
  const list = isMap(contents) && contents.items.length === 1 ? contents.get('keys') : undefined
  if (!isSeq(list)) throw new Error(`${file}:1: expected "keys:" with a list, and nothing else`)
  const lines = list.items.map((item) => ({
    number: isNode(item) ? toNumber(item.range?.[0]) : 1,
    entry: isNode(item) ? item.toJS(document) : item,
  }))
  return { head: [], lines }
}

/** Formats the path of a member as `groups[1]: `; empty for the whole key. */
export function formatPath(path: readonly PropertyKey[]): string {
  const parts = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
  return path.length === 0 ? '' : `${parts.join('').slice(1)}: `
}

export function formatKeyStore({ head, lines }: KeyStore): string {
  const texts = lines.map((line) => (typeof line === 'string' ? line : entryMark + JSON.stringify(line)))
  return [...head, lines.every((line) => typeof line === 'string') ? noKeys : someKeys, ...texts, ''].join(
    '\n',
  )
}
