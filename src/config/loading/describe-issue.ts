import type { z } from 'zod'
import { listConstants, listMembers, type SchemaNode } from '../../lib/schema-node.ts'
import { suggestSimilar } from '../../lib/suggest-similar.ts'
import { explainRemovedSetting, explainRemovedValue } from '../removed.ts'
import { findUnitOfName } from './setting-units.ts'

type Path = (string | number)[]

/**
 * Describes what is wrong with settings, by path; an unknown setting has a path of its own. `content` is all settings as
 * they were sent. No value is quoted: it may be a secret.
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
      message: `unknown setting${explainRemovedSetting([...path, key]) || suggestSimilar(key, known)}`,
    }))
  }
  const branches = issue.code === 'invalid_union' ? issue.errors : []
  const below = branches.find((issues) => issues.every((each) => each.path.length > 0))
  if (below !== undefined)
    return below.flatMap((each) =>
      describeIssue({ ...each, path: [...issue.path, ...each.path] }, schema, content),
    )
  // A schema can have a message of its own.
  if (!zodMessage.test(issue.message)) return [{ path, message: issue.message }]
  const value = getValue(content, path)
  const expected =
    issue.message === 'Invalid URL'
      ? 'expected a URL with its scheme, such as "https://catalog.example"'
      : issue.message.replace(zodMessage, '').replace(/^E/, 'e').replace(', received undefined', '')
  const unit = findUnitOfName(String(path.at(-1)))
  const withUnit = unit === undefined ? '' : ` (${unit.name}, or with a unit: ${unit.example})`
  const message =
    (value === undefined ? 'is missing; ' : '') + (expected || 'expected another value') + withUnit
  return [{ path, message: message + findHint(schema, path, value) }]
}

/** The kind of a mistake, before what zod says that it expected. */
const zodMessage = /^(?:Invalid|Too) (?:URL|input$|\w+: |discriminator value\. )/

function findHint(schema: SchemaNode, path: Path, value: unknown): string {
  if (Array.isArray(value)) return explainRemovedSetting([...path, 0])
  const choices = listConstants(schema, path).filter((each) => typeof each === 'string')
  return explainRemovedValue(path, value) || (typeof value === 'string' ? suggestSimilar(value, choices) : '')
}

function getValue(content: unknown, path: Path): unknown {
  let value = content
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = Reflect.get(value, key)
  }
  return value
}
