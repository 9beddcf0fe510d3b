import {
  isReservedMetadata,
  listIdMembers,
  type Operation,
  quoteForMessage,
  refusal,
} from '../../catalog-api/index.ts'
import { isOpen, memoizeByObject, runAtOnce } from '../../lib/index.ts'
import type { DownstreamBody, ReceivedHead } from '../downstream.ts'
import { listDetailMembers, isFilterMember } from '../facts/change-details.ts'
import { parseExactJson } from '../json/exact-json.ts'
import { getPath, JsonTransformer, type JsonVisitor, type OpenLevel } from '../json/json-transformer.ts'
import type { NamedWork } from '../sealed-tokens.ts'
import { assertKind, checkMember, checkName, checkObjectId, isOverriddenByHeader } from './check-member.ts'
import { type CheckedBody, emptyBody } from './checked-body.ts'
import { assertUncompressed, type BodyLimits, type ReadableRequest, readWholeBody } from './read-bounded.ts'
import { restateBody } from './restate-facts.ts'
import { checkMetadata, listWrittenReferences, readTexts } from './written-metadata.ts'

interface JsonBodyOptions {
  readonly limits: BodyLimits
  /** Whether all members are read as values; otherwise those that state facts, repeat the route or are recorded. */
  readonly readsAllMembers: boolean
  /** Returns the job of a sealed id. */
  readonly openJob: (jobId: string) => NamedWork | undefined
}

/** The members of a body so far. */
interface ReadMembers {
  readonly members: Record<string, unknown>
  /** The object `query` of the body, once a member of it has been read. */
  query: OpenLevel | undefined
  /** The job that the body names by a sealed id. */
  job: NamedWork | undefined
  /** Paths of members outside the catalog API that the settings of the upstream allow. */
  readonly allowedMembers: Set<string>
}

/** Reading a smaller body costs less than a pause. */
const minSlicedBytes = 1024

/**
 * Reads a JSON body, and compares it with the route. Members that the operation does not have are refused at every depth,
 * and values of kinds that they cannot have. Throws InvalidInput (400, 409, 413) or Overloaded (503).
 */
export async function readJsonBody(
  request: ReadableRequest,
  body: DownstreamBody,
  options: JsonBodyOptions,
): Promise<CheckedBody> {
  const { operation } = request.route
  const { limits } = options
  assertJsonHeaders(request.head)
  const bytes = await readWholeBody(request, body, limits)
  const read: ReadMembers = {
    // No prototype: `__proto__` is a name like any other.
    members: { __proto__: null },
    query: undefined,
    job: undefined,
    allowedMembers: new Set(),
  }
  const visitor = operation.body === 'map' ? mapVisitor : createMemberVisitor(request, options, read)
  const json = new JsonTransformer(bytes, visitor, 'object', limits.maxJsonValues)
  const isObject =
    bytes.length < minSlicedBytes ? runAtOnce(json.read()) : await request.runInSlices(json.read())
  assertObject(operation, isObject)
  const { members, allowedMembers, job } = read
  return {
    ...emptyBody,
    mayState: true,
    members,
    allowedMembers,
    references: listWrittenReferences(operation, members),
    job,
    payloadType: 'application/json',
    createPayload(stated) {
      if (isObject) restateBody(operation, stated, members, json, read.query)
      return { form: 'bytes', bytes: runAtOnce(json.write()) }
    },
  }
}

function createMemberVisitor(
  request: ReadableRequest,
  { limits, readsAllMembers, openJob }: JsonBodyOptions,
  read: ReadMembers,
): JsonVisitor {
  const { operation, parameters } = request.route
  const { emptyIsAbsent } = operation
  const wanted = listWantedMembers(operation)

  function replaceJobId(value: unknown): string | undefined {
    read.job = typeof value === 'string' ? openJob(value) : undefined
    return read.job && JSON.stringify(read.job.upstreamId)
  }

  function assertBatchLength(entries: unknown): void {
    if (!Array.isArray(entries) || entries.length <= limits.maxBatchEntries) return
    throw refusal(
      'batch_too_large',
      `the batch has more than ${limits.maxBatchEntries} entries; send it in parts`,
    )
  }

  return {
    form: request.routeUpstream.getRequestForm(operation),
    visitMember(member) {
      const { name, depth, parent, object, kind, isEmpty } = member
      const holder = depth === 2 ? parent?.name : undefined
      if (depth === 1 && name === 'identity') return 'removal'
      const form = checkName(operation, member, read.allowedMembers)
      if (holder === 'context' && isOverriddenByHeader(name, request)) return 'removal'
      if (holder === 'query') read.query ??= object
      assertKind(member, form)
      if (isEmpty && emptyIsAbsent.has(getPath(member))) return 'removal'
      const isOfQuery = holder === 'query' && kind !== 'null'
      if (isOfQuery && (name === 'identity' || name === 'context'))
        throw refusal('invalid_body', `"query.${name}" is not accepted; send it as headers`)
      const isWanted = readsAllMembers || wanted.has(name) || parameters.has(name)
      // Other members are read only for the names within them.
      const isValue = depth === 1 ? isWanted : isOfQuery && name === 'id'
      if (isOpen(form)) return isValue ? 'value' : 'nothing'
      return isValue ? 'both' : 'members'
    },
    visitValue(text, { name, depth }) {
      if (depth > 1) return checkObjectId(request, 'query.id', JSON.parse(text))
      const isBatch = name === operation.entries?.member
      // The intent records the numbers that were sent.
      const isExact = isBatch || operation.recorded.includes(name)
      const value: unknown = isExact ? parseExactJson(text) : JSON.parse(text)
      if (isBatch) assertBatchLength(value)
      const namesJob = name === 'job_id' && (operation.namesJob || operation.selectsJob)
      const replacement = namesJob ? replaceJobId(value) : checkMember(request, name, value)
      read.members[name] = replacement === undefined ? value : JSON.parse(replacement)
      return replacement
    },
  }
}

/** Lists the members that repeat the route, name further objects, state facts or are recorded. */
const listWantedMembers = memoizeByObject((operation: Operation): ReadonlySet<string> => {
  const { entries, effect } = operation
  const details = [...listDetailMembers(operation)]
  return new Set([
    'id',
    'context',
    'index_name',
    'job_id',
    ...(entries === undefined ? [] : [entries.member]),
    ...listIdMembers(operation),
    // Filters can be as large as the body.
    ...(effect === 'read' ? details.filter((name) => !isFilterMember(name)) : details),
  ])
})

/** Visits a map whose members are data of the caller: strings, or null to remove a key. */
const mapVisitor: JsonVisitor = {
  visitMember({ name, kind }) {
    if (kind === 'string' || kind === 'null') return isReservedMetadata(name) ? 'value' : 'nothing'
    throw refusal(
      'invalid_body',
      `${quoteForMessage(name)} in the body is not a string; expected a map of strings`,
    )
  },
  visitValue(text, { name }) {
    checkMetadata(readTexts({ [name]: JSON.parse(text) as unknown }), [], false, new Set())
    return undefined
  },
}

/** Operations that state something only in a body have stated nothing. */
export function readNoBody(operation: Operation, mayState: boolean): CheckedBody {
  assertObject(operation, false)
  return { ...emptyBody, mayState }
}

/** Throws InvalidInput (400) if the operation requires an object as body. */
function assertObject(operation: Operation, isObject: boolean): void {
  if (!isObject && operation.body === 'map')
    throw refusal('invalid_body', 'the body is empty; expected a JSON object')
}

const jsonContentType = /^(?:application\/json|application\/octet-stream|text\/json)\s*(?:;|$)/i
const charsetParameter = /;\s*charset\s*=\s*"?([^\s";]*)/i

/** Throws InvalidInput (400) for a body that is not JSON in UTF-8, or compressed. */
function assertJsonHeaders({ contentType, contentEncoding }: ReceivedHead): void {
  assertUncompressed(contentEncoding, 'the JSON body')
  if (contentType === undefined) return
  const encoding = charsetParameter.exec(contentType)?.[1] ?? 'utf-8'
  if (!jsonContentType.test(contentType) || !/^utf-?8$/i.test(encoding)) {
    throw refusal(
      'unsupported_content_type',
      `the content-type is ${quoteForMessage(contentType)}; expected application/json in UTF-8`,
    )
  }
}
