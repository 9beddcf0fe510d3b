import type { Readable } from 'node:stream'
import { invalidInput, type InterfaceError } from '../interface/errors.ts'
import { arrowStreamType, reservedContextPrefix } from '../interface/headers.ts'
import { formatIdentifier, sameIdentifier, show } from '../interface/identifiers.ts'
import { assertBranch } from '../interface/reference-names.ts'
import type { PolicySet } from '../policy/trie.ts'
import { demand } from './authorize.ts'
import { assertReferences, bodyNeeds, identifierMember, stringMember, type Members } from './body-facts.ts'
import { commitDetails } from './commit-details.ts'
import { parseJsonBody, withoutMember } from './json-body.ts'
import type { PermissionNeed } from './needs.ts'
import { readBody } from './read-body.ts'
import { assertSpelling } from './spelling.ts'
import type { Allowed, Consistent, Payload, Permitted } from './stages.ts'
import { undestroyed } from './undestroyed.ts'

/** What the check needs to know besides the request. */
export interface CheckOptions {
  /** The same policies that authorized the request. */
  readonly policies: PolicySet
  /** The delimiter of ids upstream: no id in a body may hold it in a part. */
  readonly delimiter: string
  /** The most bytes of JSON that are read into memory. */
  readonly maximumJsonBytes: number
}

const jsonTypes = /^(?:application\/json|application\/octet-stream|text\/json)\s*(?:;|$)/i
const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i
const arrowTypes = /^(?:application\/vnd\.apache\.arrow\.stream|application\/octet-stream)\s*(?:;|$)/i

/**
 * The stage that reads the body, where it is JSON, and holds it against the route: what both say must not differ,
 * and what only the body says must be allowed too. Arrow bodies are not read: they will stream through.
 * Throws InvalidInput (400, 413) or DeniedError (403).
 */
export async function check(request: Permitted, body: Readable, options: CheckOptions): Promise<Consistent> {
  const { operation } = request.meaning
  assertBranch(parameter(request, 'branch'))
  if (operation.body === 'arrow') return passArrow(request, body)
  if (!request.hasBody) return passWithout(request, options)
  assertReadable(request)
  const bytes = await readBody(body, request.contentLength, options.maximumJsonBytes)
  const json = parseJsonBody(bytes)
  if (json === undefined) return passWithout(request, options, bytes)
  if (operation.body === 'map') return passJson(request, bytes, {}, [])
  const { members } = json
  assertSpelling(members)
  assertSameAsRoute(request, members)
  assertSafeEnvelope(members)
  const inner = innerNeeds(request, members, options)
  const payload = Object.hasOwn(members, 'identity') ? withoutMember(json, 'identity') : bytes
  return passJson(request, payload, members, inner)
}

function passArrow(request: Permitted, body: Readable): Consistent {
  if (request.contentType !== undefined && !arrowTypes.test(request.contentType)) {
    throw invalidInput(`the content-type is ${show(request.contentType)}; expected ${arrowStreamType}`)
  }
  if (request.contentEncoding !== undefined && request.contentEncoding !== 'identity') {
    throw invalidInput(
      `the content-encoding is ${show(request.contentEncoding)}; send the Arrow stream as it is`,
    )
  }
  const payload: Payload = request.hasBody
    ? { form: 'stream', body: undestroyed(body), length: request.contentLength }
    : { form: 'none' }
  return consistent(request, payload, arrowStreamType, {})
}

/** No body, an empty one or `null`: the operations that say something only in a body have said nothing. */
function passWithout(request: Permitted, options: CheckOptions, bytes?: Buffer): Consistent {
  if (request.meaning.operation.body === 'map')
    throw invalidInput('the body is empty; expected a JSON object')
  const inner = innerNeeds(request, {}, options)
  return passJson(request, bytes, {}, inner)
}

function passJson(request: Permitted, bytes: Buffer | undefined, members: Members, inner: Inner): Consistent {
  if (bytes === undefined) return consistent(request, { form: 'none' }, undefined, members, inner)
  return consistent(request, { form: 'bytes', bytes }, 'application/json', members, inner)
}

/** What a body asks for besides the operation of the route, each with the decision that allows it. */
type Inner = readonly (readonly [PermissionNeed, Allowed])[]

function consistent(
  request: Permitted,
  payload: Payload,
  upstreamContentType: string | undefined,
  members: Members,
  inner: Inner = [],
): Consistent {
  const allowedBy = request.decision ?? inner[0]?.[1]
  if (allowedBy === undefined) throw invalidInput('the batch is empty; expected at least one operation')
  return {
    ...request,
    payload,
    upstreamContentType,
    inner: inner.map(([need]) => need),
    allowedBy,
    details: commitDetails(request.meaning, members),
  }
}

function innerNeeds(request: Permitted, members: Members, options: CheckOptions): Inner {
  return bodyNeeds(request.meaning.operation.name, request.meaning.id, members).map((need) => {
    formatIdentifier(need.id, options.delimiter)
    return [need, demand(need, request, options.policies)] as const
  })
}

function assertReadable(request: Permitted): void {
  const { contentType, contentEncoding } = request
  if (contentEncoding !== undefined && contentEncoding !== 'identity') {
    throw invalidInput(`the content-encoding is ${show(contentEncoding)}; a JSON body must be sent as it is`)
  }
  if (contentType === undefined) return
  const encoding = charset.exec(contentType)?.[1] ?? 'utf-8'
  if (!jsonTypes.test(contentType) || !/^utf-?8$/i.test(encoding)) {
    throw invalidInput(`the content-type is ${show(contentType)}; expected application/json in UTF-8`)
  }
}

/** Interface section 3.5: a value that stands in the route and in the body is the same in both. */
function assertSameAsRoute(request: Permitted, members: Members): void {
  const { operation, id, indexName, parameters } = request.meaning
  if (operation.repeats.includes('id')) assertSameId(members, 'id', id)
  if (operation.repeats.includes('index_name')) {
    const name = stringMember(members, 'index_name')
    if (name !== undefined && name !== indexName) {
      throw differs('index_name', show(name), show(indexName ?? ''))
    }
  }
  for (const [name, value] of parameters) {
    const own = Object.hasOwn(members, name) ? members[name] : undefined
    if (own === undefined || own === null) continue
    const text = typeof own === 'string' ? own : JSON.stringify(own)
    const expected = typeof value === 'string' ? value : JSON.stringify(value)
    if (text !== expected) throw differs(name, JSON.stringify(own), show(expected))
  }
  const query = Object.hasOwn(members, 'query') ? members['query'] : undefined
  if (typeof query !== 'object' || query === null) return
  const nested = query as Members
  assertSpelling(nested)
  assertSameId(nested, 'query.id', id)
  if (Object.hasOwn(nested, 'identity'))
    throw invalidInput('"query.identity" is not accepted; send it as headers')
  assertReferences(nested)
}

function assertSameId(members: Members, what: string, id: readonly string[]): void {
  const own = identifierMember(members, 'id', what)
  if (own !== undefined && !sameIdentifier(own, id))
    throw differs(what, JSON.stringify(own), JSON.stringify(id))
}

function differs(name: string, body: string, route: string): InterfaceError {
  return invalidInput(
    `${show(name)} is ${cut(body)} in the body and ${cut(route)} in the route; they must not differ`,
  )
}

/** JSON of a readable length. */
function cut(text: string): string {
  return text.length > 200 ? `${text.slice(0, 197)}...` : text
}

function assertSafeEnvelope(members: Members): void {
  assertReferences(members)
  const context = Object.hasOwn(members, 'context') ? members['context'] : undefined
  if (context === undefined || context === null) return
  if (typeof context !== 'object' || Array.isArray(context)) {
    throw invalidInput('"context" in the body is not an object of strings')
  }
  for (const [key, value] of Object.entries(context)) {
    if (typeof value !== 'string')
      throw invalidInput(`the context entry ${show(key)} in the body is not a string`)
    if (key.toLowerCase().startsWith(reservedContextPrefix)) {
      throw invalidInput(`the context key ${show(key)} is reserved for the gateway`)
    }
  }
}

function parameter(request: Permitted, name: string): string | undefined {
  const value = request.meaning.parameters.get(name)
  return typeof value === 'string' ? value : undefined
}
