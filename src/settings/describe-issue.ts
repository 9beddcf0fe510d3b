import type { z } from 'zod'
import { suggestSimilar } from '../lib/index.ts'
import { explainRemovedSetting, explainRemovedValue } from './removed.ts'
import { findUnitOfName, type SettingUnit } from './setting-units.ts'
import { listConstants, listMembers, type SchemaNode } from './schema-node.ts'

type Path = (string | number)[]

/**
 * Describes what is wrong with settings, by path; an unknown setting has a path of its own. `content` is all settings as
 * they were sent. A value is quoted only in place of a number or a boolean: text may be a secret.
 */
export function describeIssue(
  issue: z.core.$ZodIssue,
  schema: SchemaNode,
  content: unknown,
): { path: Path; message: string }[] {
  const path = issue.path.map((key) => (typeof key === 'number' ? key : String(key)))
  if (issue.code === 'unrecognized_keys') {
    const known = listMembers(schema, path)
    return issue.keys.map((key) => ({
      path: [...path, key],
      message: `unknown setting${explainRemovedSetting([...path, key]) || suggestSimilar(key, known) || listKnown(known)}`,
    }))
  }
  // The kind of a section, such as the type of a sink.
  if (issue.code === 'invalid_union' && issue.errors.length === 0) {
    const values = [...listConstants(schema, path)]
    return describeIssue({ ...issue, code: 'invalid_value', values }, schema, content)
  }
  const value = getValue(content, path)
  if (issue.message === 'Invalid URL') return [{ path, message: describeUrl(value) }]
  // A schema can have a message of its own.
  if (!/^(?:Invalid |Too (?:small|big): )/.test(issue.message)) return [{ path, message: issue.message }]
  if (value === undefined) return [{ path, message: `is missing; expected ${nameExpected(issue, path)}` }]
  const branches = issue.code === 'invalid_union' ? issue.errors : []
  const below = branches.find((issues) => issues.every((each) => each.path.length > 0))
  if (below !== undefined)
    return below.flatMap((each) =>
      describeIssue({ ...each, path: [...issue.path, ...each.path] }, schema, content),
    )
  const removed = Array.isArray(value)
    ? explainRemovedSetting([...path, 0])
    : explainRemovedValue(path, value)
  const hint = removed || suggestValue(issue, value, path)
  const message = `expected ${nameExpected(issue, path)}, received ${nameReceived(issue, value)}${hint}`
  return [{ path, message }]
}

/** Of a larger section, the reference is the better list. */
const maxListed = 12

function listKnown(known: readonly string[]): string {
  const names = [...new Set(known)]
  return names.length > maxListed ? '' : `; the settings here are ${names.join(', ')}`
}

/** Describes what the schema allows, of a type or within its bounds. */
function nameExpected(issue: z.core.$ZodIssue, path: Path): string {
  const unit = findUnitOfName(String(path.at(-1)))
  switch (issue.code) {
    case 'invalid_type': {
      const isNumber = issue.expected === 'number' || issue.expected === 'int'
      const type = typeNames[issue.expected] ?? issue.expected
      return isNumber && unit
        ? `${type} of ${unit.name}, or a value with a unit such as ${unit.example}`
        : type
    }
    case 'invalid_value':
      return joinAlternatives(issue.values.map((each) => JSON.stringify(each)))
    case 'too_small': {
      if (issue.origin === 'string' && issue.minimum === 1) return 'text that is not empty'
      const least = issue.inclusive === false ? 'more than' : 'at least'
      return `${least} ${issue.minimum}${nameCounted(issue.origin, unit)}`
    }
    case 'too_big': {
      const most = issue.inclusive === false ? 'less than' : 'at most'
      return `${most} ${issue.maximum}${nameCounted(issue.origin, unit)}`
    }
    case 'invalid_format':
      return issue.pattern === undefined
        ? `a value of the format ${issue.format}`
        : `text that matches ${issue.pattern}`
    case 'invalid_union': {
      const all = issue.errors.flatMap((issues) => issues.filter((each) => each.path.length === 0))
      return all.length === 0
        ? 'another value; see CONFIGURATION.md'
        : joinAlternatives([...new Set(all.map((each) => nameExpected(each, path)))])
    }
    case 'custom':
    case 'invalid_element':
    case 'invalid_key':
    case 'not_multiple_of':
    case 'unrecognized_keys':
      break
  }
  return 'another value; see CONFIGURATION.md'
}

function nameCounted(origin: string, unit: SettingUnit | undefined): string {
  if (origin === 'string') return ' characters'
  if (origin === 'array') return ' items'
  return unit === undefined ? '' : ` ${unit.name}`
}

/** A value is quoted only in place of a number, a boolean or one of listed values: other text may be a secret. */
function nameReceived(issue: z.core.$ZodIssue, value: unknown): string {
  const isListed = issue.code === 'invalid_value' || issue.code === 'invalid_union'
  const isBounded = (issue.code === 'too_small' || issue.code === 'too_big') && issue.origin !== 'string'
  const isScalar = issue.code === 'invalid_type' && ['number', 'int', 'boolean'].includes(issue.expected)
  if (isBounded && Array.isArray(value)) return String(value.length)
  if (typeof value === 'string' && (issue.code === 'too_small' || issue.code === 'too_big') && !isBounded)
    return value === '' ? 'empty text' : `${value.length} characters`
  return isListed || isBounded || isScalar ? quote(value) : nameType(value)
}

function suggestValue(issue: z.core.$ZodIssue, value: unknown, path: Path): string {
  if (issue.code === 'invalid_value') {
    const texts = issue.values.filter((each) => typeof each === 'string')
    return typeof value === 'string' ? suggestSimilar(value, texts) : ''
  }
  if (issue.code !== 'invalid_type') return ''
  return issue.expected === 'boolean' ? suggestBoolean(value) : suggestNumber(value, String(path.at(-1)))
}

function joinAlternatives(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
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

/** For a number in quotes, and for units that differ from ours only in spelling. */
function suggestNumber(value: unknown, name: string): string {
  const unit = findUnitOfName(name)
  const [, digits, letters = ''] = /^(\d{1,9}) ?([a-z]*)$/i.exec(String(value)) ?? []
  if (unit === undefined || digits === undefined) return ''
  if (letters === '') return `; write ${digits} (${unit.name})`
  if (unit.name !== 'bytes') return ''
  const size = /^([kmg])i?b?$/i.exec(letters)?.[1]?.toUpperCase()
  return size === undefined ? '' : `; write ${digits}${size}iB`
}

/** Without user and password, which must not be shown. */
const hostGrammar = /^[\w.-]+(?::\d+)?(?:\/[\w./-]*)?$/

function describeUrl(value: unknown): string {
  const example = typeof value === 'string' && hostGrammar.test(value) ? value : 'catalog.example:8443'
  return `expected a URL with its scheme, such as "https://${example}"`
}

/** Returns what is at a path; undefined if nothing is. */
export function getValue(content: unknown, path: readonly (string | number)[]): unknown {
  let value = content
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Reflect.get(value, key)
  }
  return value
}
