import {
  findFact,
  isReservedMetadata,
  listIdMembers,
  type Operation,
  quoteForMessage,
  refusal,
} from '../../catalog-api/index.ts'
import { isOpen, memoizeByObject } from '../../lib/index.ts'
import type { NamedWork } from '../sealed-tokens.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import { listDetailMembers, isFilterMember } from '../facts/change-details.ts'
import type { Matched } from '../context.ts'
import type { BodyLimits } from './read-bounded.ts'
import { checkMember, checkQueryMember, isOverriddenByHeader } from './check-member.ts'
import { assertKind, checkName } from './body-members.ts'
import { parseExactJson } from '../json/exact-json.ts'
import {
  JsonTransformer,
  type JsonVisitor,
  type OpenMember,
  type OpenObject,
} from '../json/json-transformer.ts'
import { checkMetadata, readTexts } from './written-metadata.ts'

export type BodyChecker = ReturnType<typeof createBodyChecker>

export interface JsonBodyOptions {
  readonly limits: BodyLimits
  /** Whether all members are read as values; otherwise those that state facts, repeat the route or are recorded. */
  readonly needsAllMembers: boolean
  /** Returns the job of a sealed id. */
  readonly openJob: (jobId: string) => NamedWork | undefined
}

/**
 * Creates what checks a JSON body. Members that the operation does not have are refused at every depth, and values of kinds
 * that they cannot have.
 */
export function createBodyChecker(
  request: Matched,
  text: Buffer,
  { limits, needsAllMembers, openJob }: JsonBodyOptions,
) {
  const { operation } = request.route
  const { emptyIsAbsent } = operation
  const wanted = listWantedMembers(operation)
  const form = request.routeUpstream.getRequestForm(operation)
  const allowed = new Set<string>()
  // No prototype: `__proto__` is a name like any other.
  const members: Record<string, unknown> = { __proto__: null }
  let query: OpenObject | undefined
  let job: NamedWork | undefined

  /** Members that are read as values; the other ones only for the names within them. */
  function isWanted({ name, depth, parent }: OpenMember): boolean {
    if (depth === 1) return needsAllMembers || wanted.has(name) || request.route.parameters.has(name)
    if (depth !== 2 || parent?.name !== 'query') return false
    return name === 'id' || name === 'context' || findFact(operation, 'body.query', name) !== undefined
  }

  function replaceJobId(value: unknown): string | undefined {
    job = typeof value === 'string' ? openJob(value) : undefined
    return job && JSON.stringify(job.upstreamId)
  }

  function assertBatchLength(entries: unknown): void {
    if (!Array.isArray(entries) || entries.length <= limits.maxBatchEntries) return
    throw refusal(
      'batch_too_large',
      `the batch has more than ${limits.maxBatchEntries} entries; send it in parts`,
    )
  }

  const memberVisitor: JsonVisitor = {
    form,
    visitMember(member) {
      const { name, depth, parent, object } = member
      if (depth === 1 && name === 'identity') return 'removal'
      const found = checkName(operation, member, allowed)
      if (depth === 2 && parent?.name === 'context' && isOverriddenByHeader(name, request)) return 'removal'
      if (depth === 2 && parent?.name === 'query') {
        if (name === 'identity')
          throw refusal('invalid_body', '"query.identity" is not accepted; send it as headers')
        query ??= object
      }
      const isValue = isWanted(member)
      if (isOpen(found)) return isValue ? 'value' : 'nothing'
      return isValue ? 'both' : 'members'
    },
    visitKind: assertKind,
    isAbsentIfEmpty: ({ path }) => emptyIsAbsent.has(path),
    visitValue(text, { name, depth }) {
      if (depth > 1) return checkQueryMember(request, name, JSON.parse(text))
      const value: unknown = recordsNumbers(operation, name) ? parseExactJson(text) : JSON.parse(text)
      if (name === operation.entries?.member) assertBatchLength(value)
      const namesJob = namesJobInBody(operation) && name === 'job_id'
      const replacement = namesJob ? replaceJobId(value) : checkMember(request, name, value)
      members[name] = replacement === undefined ? value : JSON.parse(replacement)
      return replacement
    },
  }

  const visitor = operation.body === 'map' ? mapVisitor : memberVisitor
  return {
    /** Rejects JSON that parsers read differently, and each member that contradicts the route. */
    json: new JsonTransformer(text, visitor, 'object', limits.maxJsonValues),
    members: members as JsonObject,
    /** The object `query` of the body, once a member of it has been read. */
    getQueryObject: () => query,
    /** The job that the body names by a sealed id. */
    getJob: () => job,
    /** Paths of members outside the catalog API that the settings of the upstream allow. */
    allowedMembers: allowed,
  }
}

function namesJobInBody({ namesJob, selectsJob }: Operation): boolean {
  return namesJob || selectsJob
}

/** Lists the members that repeat the route, name further objects, state facts or are recorded. */
const listWantedMembers = memoizeByObject((operation: Operation): ReadonlySet<string> => {
  const { entries, effect } = operation
  const details = [...listDetailMembers(operation)]
  return new Set([
    'id',
    'context',
    'index_name',
    ...(namesJobInBody(operation) ? ['job_id'] : []),
    ...(entries === undefined ? [] : [entries.member]),
    ...listIdMembers(operation),
    // Filters can be as large as the body.
    ...(effect === 'read' ? details.filter((name) => !isFilterMember(name)) : details),
  ])
})

/** Whether the intent records the exact numbers of that member. */
function recordsNumbers({ recorded, entries }: Operation, name: string): boolean {
  return recorded.includes(name) || entries?.member === name
}

/** Visits a map whose members are data of the caller: strings, or null to remove a key. */
const mapVisitor: JsonVisitor = {
  visitMember: ({ name }) => (isReservedMetadata(name) ? 'value' : 'nothing'),
  visitKind(kind, { name }) {
    if (kind === 'string') return
    throw refusal(
      'invalid_body',
      `${quoteForMessage(name)} in the body is not a string; expected a map of strings`,
    )
  },
  visitValue(text, { name }) {
    checkMetadata(readTexts({ [name]: JSON.parse(text) as unknown }), [], false)
    return undefined
  },
}
