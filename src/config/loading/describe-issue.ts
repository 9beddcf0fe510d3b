import type { z } from 'zod'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import { toSchemaNode, type SchemaNode } from './setting-variables.ts'

type Path = (string | number)[]

/**
 * Describes what is wrong with settings, by path; an unknown setting has a path of its own. `content` is all settings as
 * they were sent. A value is quoted only in place of a number or a boolean: text may be a secret.
 */
export function describeIssue(
  issue: z.core.$ZodIssue,
  schema: z.ZodType,
  content: unknown,
): { path: Path; message: string }[] {
  const path = issue.path.map((key) => (typeof key === 'number' ? key : String(key)))
  if (issue.code === 'unrecognized_keys') {
    const known = listMembers(toSchemaNode(schema), path)
    return issue.keys.map((key) => ({
      path: [...path, key],
      message: `unknown setting${suggestSimilar(key, known)}`,
    }))
  }
  const value = getValue(content, path)
  // A schema can have a message of its own.
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input: '))
    return [{ path, message: describeType(issue.expected, value, String(path.at(-1))) }]
  if (issue.message === 'Invalid URL') return [{ path, message: describeUrl(value) }]
  return [{ path, message: issue.message }]
}

function describeType(expected: string, value: unknown, name: string): string {
  if (value === undefined) return `is missing; expected ${typeNames[expected] ?? expected}`
  const isScalar = expected === 'number' || expected === 'int' || expected === 'boolean'
  const received = isScalar ? quote(value) : nameType(value)
  const hint = expected === 'boolean' ? suggestBoolean(value) : suggestUnit(value, name)
  return `expected ${typeNames[expected] ?? expected}, received ${received}${hint}`
}

const typeNames: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'a section with settings',
  record: 'a section with settings',
  string: 'text',
}

function nameType(value: unknown): string {
  if (value === null) return 'nothing'
  return Array.isArray(value) ? 'a list' : (typeNames[typeof value] ?? typeof value)
}

const maxQuotedLength = 40

function quote(value: unknown): string {
  const isShort = typeof value === 'string' && value.length <= maxQuotedLength
  return isShort || typeof value === 'number' ? JSON.stringify(value) : nameType(value)
}

/** YAML 1.1 reads these as booleans, YAML 1.2 as text. */
function suggestBoolean(value: unknown): string {
  const text = String(value).toLowerCase()
  if (['yes', 'on', 'y', '1', 'true'].includes(text)) return '; write true'
  return ['no', 'off', 'n', '0', 'false'].includes(text) ? '; write false' : ''
}

/** Milliseconds, or bytes. */
const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  b: 1,
  k: 1024,
  kb: 1024,
  kib: 1024,
  mb: 1024 ** 2,
  mib: 1024 ** 2,
  g: 1024 ** 3,
  gb: 1024 ** 3,
  gib: 1024 ** 3,
}

/** How settings end, and their unit in terms of `units`. */
const settingUnits: readonly (readonly [RegExp, size: number, name: string, accepts: RegExp])[] = [
  [/Ms$/, 1, 'milliseconds', /^(?:ms|s|m|min|h|d)$/],
  [/Seconds$/, 1_000, 'seconds', /^(?:ms|s|m|min|h|d)$/],
  [/Minutes$/, 60_000, 'minutes', /^(?:s|m|min|h|d)$/],
  [/Hours$/, 3_600_000, 'hours', /^(?:m|min|h|d)$/],
  [/Days$/, 86_400_000, 'days', /^(?:h|d)$/],
  [/Bytes$/, 1, 'bytes', /^(?:b|k|kb|kib|mb|mib|g|gb|gib|m)$/],
]

function suggestUnit(value: unknown, name: string): string {
  const [, digits, unit = ''] = /^(\d{1,9}) ?([a-z]*)$/i.exec(String(value)) ?? []
  if (digits === undefined) return ''
  const rule = settingUnits.find(([ending]) => ending.test(name))
  if (rule === undefined) return ''
  const [, size, unitName, accepts] = rule
  const given = unit.toLowerCase()
  if (given !== '' && !accepts.test(given)) return `; the unit is ${unitName}`
  const isMebibytes = unitName === 'bytes' && given === 'm'
  const factor = isMebibytes ? 1024 ** 2 : given === '' ? size : (units[given] ?? size)
  const meant = (Number(digits) * factor) / size
  return Number.isInteger(meant) ? `; write ${meant} (${unitName})` : `; the unit is ${unitName}`
}

/** Without user and password, which must not be shown. */
const hostGrammar = /^[\w.-]+(?::\d+)?(?:\/[\w./-]*)?$/

function describeUrl(value: unknown): string {
  const example = typeof value === 'string' && hostGrammar.test(value) ? value : 'catalog.example:8443'
  return `expected a URL with its scheme, such as "https://${example}"`
}

function getValue(content: unknown, path: Path): unknown {
  let value = content
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Reflect.get(value, key)
  }
  return value
}

/** Lists the settings of a section; of alternatives, those of all. */
function listMembers(node: SchemaNode, path: Path): string[] {
  const [key, ...rest] = path
  const alternatives = [...(node.anyOf ?? []), ...(node.oneOf ?? [])]
  const below = alternatives.flatMap((each) => listMembers(each, path))
  if (key === undefined) return [...Object.keys(node.properties ?? {}), ...below]
  const child = typeof key === 'number' ? node.items : node.properties?.[key]
  return child === undefined ? below : [...listMembers(child, rest), ...below]
}
