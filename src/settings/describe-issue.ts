import type { z } from 'zod'
import { suggestSimilar } from '../lib/index.ts'
import { explainRemovedSetting, explainRemovedValue } from './removed.ts'
import { findUnitOfName } from './setting-units.ts'
import { listMembers, type SchemaNode } from './schema-node.ts'

type Path = (string | number)[]

/**
 * Describes an error in settings, by path; an unknown setting has a path of its own. `content` is all settings before
 * parsing.
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
  const value = getValue(content, path)
  // A schema can have a message of its own.
  const isOwn = !/^(?:Invalid |Too (?:small|big): )/.test(issue.message)
  if (issue.code === 'custom' || (isOwn && value !== undefined)) return [{ path, message: issue.message }]
  const expected = isOwn ? issue.message : `expected ${nameExpected(issue, path)}`
  if (value === undefined) return [{ path, message: `is missing; ${expected}` }]
  const branches = issue.code === 'invalid_union' ? issue.errors : []
  const below = branches.find((issues) => issues.every((each) => each.path.length > 0))
  if (below !== undefined)
    return below.flatMap((each) =>
      describeIssue({ ...each, path: [...issue.path, ...each.path] }, schema, content),
    )
  const removed = Array.isArray(value)
    ? explainRemovedSetting([...path, 0])
    : explainRemovedValue(path, value)
  const hint = removed || suggestValue(issue, value)
  return [{ path, message: `${expected}, received ${nameReceived(issue, value)}${hint}` }]
}

/** Of a larger section, the reference is the better list. */
const maxListed = 12

function listKnown(known: readonly string[]): string {
  const names = [...new Set(known)]
  return names.length > maxListed ? '' : `; the settings here are ${names.join(', ')}`
}

/** Describes the values that the schema allows: a type, or its bounds. */
function nameExpected(issue: z.core.$ZodIssue, path: Path): string {
  const unit = findUnitOfName(String(path.at(-1)))
  if (issue.code === 'invalid_type') {
    const type = typeNames[issue.expected] ?? issue.expected
    return unit === undefined
      ? type
      : `${type} of ${unit.name}, or a value with a unit such as ${unit.example}`
  }
  if (issue.code === 'too_small' || issue.code === 'too_big') {
    const [inclusive, exclusive, bound] =
      issue.code === 'too_small'
        ? ['at least', 'more than', issue.minimum]
        : ['at most', 'less than', issue.maximum]
    const counted = countedNames[issue.origin] ?? unit?.name ?? ''
    return `${issue.inclusive === false ? exclusive : inclusive} ${bound} ${counted}`.trimEnd()
  }
  if (issue.code === 'invalid_format') return `text that matches ${issue.pattern ?? issue.format}`
  const values = listValues(issue)
  if (values.length > 0) return joinAlternatives(values.map((each) => JSON.stringify(each)))
  const branches = issue.code === 'invalid_union' ? issue.errors.flat() : []
  const all = branches.filter((each) => each.path.length === 0).map((each) => nameExpected(each, path))
  return all.length === 0 ? 'another value; see CONFIGURATION.md' : joinAlternatives([...new Set(all)])
}

/** Lists the allowed values, if the schema does; also those of the member that names the kind of a section. */
function listValues(issue: z.core.$ZodIssue): readonly unknown[] {
  if (issue.code === 'invalid_value') return issue.values
  return issue.code === 'invalid_union' && 'options' in issue ? (issue.options ?? []) : []
}

function joinAlternatives(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

const countedNames: Readonly<Record<string, string>> = { string: 'characters', array: 'items' }
const quotedTypes = new Set<string>(['int', 'number', 'boolean'])
const typeNames: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'a section with settings',
  record: 'a section with settings',
  string: 'text',
}

const maxQuotedLength = 40

/** A value is quoted only in place of a number, a boolean or one of listed values: other text may be a secret. */
function nameReceived(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === 'too_small' || issue.code === 'too_big') {
    if (Array.isArray(value) || (typeof value === 'string' && issue.origin === 'string'))
      return String(value.length)
  }
  const mayQuote =
    issue.code === 'invalid_type' ? quotedTypes.has(issue.expected) : issue.code !== 'invalid_format'
  const isShort = typeof value === 'string' && value.length <= maxQuotedLength
  if (mayQuote && (isShort || typeof value === 'number')) return JSON.stringify(value)
  if (value === null) return 'nothing'
  return Array.isArray(value) ? 'a list' : (typeNames[typeof value] ?? typeof value)
}

function suggestValue(issue: z.core.$ZodIssue, value: unknown): string {
  const texts = listValues(issue).filter((each) => typeof each === 'string')
  return typeof value === 'string' ? suggestSimilar(value, texts) : ''
}

/** Returns the value at a path; undefined if there is none. */
export function getValue(content: unknown, path: readonly (string | number)[]): unknown {
  let value = content
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Reflect.get(value, key)
  }
  return value
}
