import type { IncomingHttpHeaders } from 'node:http'
import { invalidInput } from '../interface/errors.ts'
import { dialects } from '../interface/headers.ts'
import { sameIdentifier, show } from '../interface/identifiers.ts'
import {
  operationSchemas,
  type DescribedOperation,
  type RequestOf,
} from '../interface/schemas/operation-schemas.ts'
import type { Target } from '../interface/target.ts'

/** The members of a request before they are held to the schema of its operation. */
export type Members = Readonly<Record<string, unknown>>

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Reads a JSON body: an object, or empty or `null` for no members. Throws InvalidInput (400). */
export function parseMembers(bytes: Uint8Array): Members {
  if (bytes.length === 0) return {}
  let value: unknown
  try {
    const text = decoder.decode(bytes)
    value = text.trim() === '' ? null : JSON.parse(text)
  } catch {
    throw invalidInput('the body is not valid JSON in UTF-8')
  }
  if (value === null) return {}
  if (typeof value !== 'object' || Array.isArray(value))
    throw invalidInput('the body is JSON, but not an object')
  return value as Members
}

/**
 * The members for a body that is a map of the caller's own: the map is the member `metadata`. Some send the map
 * wrapped as the other requests are, which a member `metadata` that is an object tells, for the values of a map are
 * strings. Throws InvalidInput (400) where what is wrapped names another table than the route.
 */
export function readMap(target: Target, body: Members): Members {
  const { metadata } = body
  const isWrapped = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata)
  if (!isWrapped) return { metadata: body }
  checkRoute(target, body, ['id'])
  return body
}

/** Throws InvalidInput (400) when the body names another object than the route; `[]` is the root. */
export function checkRoute(
  { operation, id, indexName }: Target,
  members: Members,
  repeats = operation.repeats,
): void {
  for (const name of repeats) {
    const value = members[name]
    if (value === undefined || value === null) continue
    if (name === 'id') {
      if (!Array.isArray(value) || !value.every((part) => typeof part === 'string')) {
        throw invalidInput('the member "id" of the body is not a list of strings')
      }
      if (!sameIdentifier(value, id))
        throw invalidInput('the "id" in the body differs from the id in the route')
    } else if (value !== indexName) {
      throw invalidInput(`the ${show(name)} in the body differs from the one in the route`)
    }
  }
}

/**
 * Puts the parameters of the query, and what CreateTable sends in headers, among the members. Throws InvalidInput
 * (400) where a fact is sent twice and differs; in a body that officially is not there, it is overruled instead.
 */
export function mergeMembers(
  { operation, parameters }: Target,
  members: Members,
  headers: IncomingHttpHeaders,
): Members {
  if (parameters.size === 0 && operation.name !== 'CreateTable') return members
  const merged: Record<string, unknown> = { ...members }
  const add = (name: string, value: unknown): void => {
    const there = merged[name] ?? value
    if (there !== value && operation.body !== 'none') {
      throw invalidInput(`${show(name)} is sent twice, and the values differ`)
    }
    merged[name] = value
  }
  for (const [name, text] of parameters) add(name, typed(operation.query.get(name), text))
  if (operation.name === 'CreateTable') {
    const { properties, location } = dialects.catalog
    if (headers[properties] !== undefined) add('properties', headers[properties])
    if (headers[location] !== undefined) add('location', headers[location])
  }
  return merged
}

/** Holds members to the schema of an operation. Throws InvalidInput (400) that names the first wrong member. */
export function readRequest<Name extends DescribedOperation>(name: Name, members: Members): RequestOf<Name> {
  const read = readSafely(name, members)
  // The compiler does not follow the name from the table of schemas to the type of its output.
  if (read.success) return read.data as RequestOf<Name>
  const issue = read.error.issues[0]
  const path = issue?.path.map(String).join('.') ?? ''
  throw invalidInput(
    `the member ${show(path)} of the request is wrong: ${issue?.message ?? 'not as expected'}`,
  )
}

function readSafely(name: DescribedOperation, members: Members) {
  try {
    return operationSchemas[name].request.safeParse(members)
  } catch (error) {
    // The stack overflows where a recursive member is nested thousands of levels deep.
    if (error instanceof RangeError) throw invalidInput('the body is nested too deeply', { cause: error })
    throw error
  }
}

function typed(type: string | undefined, text: string | readonly string[]): unknown {
  if (type === 'integer') return Number(text)
  return type === 'boolean' ? text === 'true' : text
}
