import { cacheByOperation } from '../../catalog-api/requirements.ts'
import { refusal } from '../../catalog-api/catalog-error.ts'
import { factForQueryMember } from '../../catalog-api/reserved-names.ts'
import { isOpen } from '../../lib/json/json-form.ts'
import { listIdMembers, type Operation } from '../../catalog-api/operations.ts'
import type { NamedWork } from '../facts/sealed-ids.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import { listDetailMembers, isFilterMember } from '../facts/change-details.ts'
import type { Matched } from '../context.ts'
import { checkMember, checkQueryMember, queryIdentityError, isOverriddenByHeader } from './check-member.ts'
import { BodyMembers, lateMemberError } from './body-members.ts'
import { parseExactJson } from '../json/exact-json.ts'
import { JsonTransformer, type JsonVisitor, type OpenObjectReference } from '../json/json-transformer.ts'
import { createMapVisitor } from './map-visitor.ts'

/**
 * Checks a JSON body chunk by chunk. Members that the operation does not have are refused at every depth, and values of
 * kinds that they cannot have.
 */
export interface BodyChecker {
  /** Rejects JSON that parsers read differently, and each member as soon as it contradicts the route. */
  readonly json: JsonTransformer
  /** Members read so far: all but `identity`, or only those that repeat the route, state facts or are recorded. */
  readonly members: JsonObject
  /** The object `query` of the body, once a member of it has been read. */
  getQueryObject(): OpenObjectReference | undefined
  /** The job that the body names by a sealed id. */
  getJob(): NamedWork | undefined
  /** Paths of members outside the catalog API that the settings of the upstream allow. */
  readonly allowedMembers: ReadonlySet<string>
  /** Called when the intent has been created: further members that it would have to contain are rejected. */
  freezeAuditedMembers(): void
}

interface BodyCheckerOptions {
  /** Whether all members are retained, because they may affect the decision. */
  readonly retainsAll: boolean
  /**
   * Whether SQL filters are retained for the intent. Only for a body that is checked as a whole: filters can be as
   * large as the body.
   */
  readonly retainsFilters: boolean
  /** Maximum size of a retained value. */
  readonly maxValueBytes: number
  /** Maximum number of members and list items; see JsonTransformer. */
  readonly maxValues: number
  readonly maxBatchEntries: number
  /** Returns the job of a sealed id. */
  readonly openJob: (jobId: string) => NamedWork | undefined
}

export function createBodyChecker(request: Matched, options: BodyCheckerOptions): BodyChecker {
  const { operation } = request.route
  // No prototype: `__proto__` is a name like any other.
  const members: Record<string, unknown> = { __proto__: null }
  let isFrozen = false
  let query: OpenObjectReference | undefined
  let job: NamedWork | undefined
  const names = new BodyMembers(operation, request.routeUpstream.getRequestForm(operation))
  const onMember: OnMember = (name, value) => {
    const isLate = isFrozen && operation.effect !== 'read' && listDetailMembers(operation).has(name)
    if (isLate) throw lateMemberError(name)
    members[name] = value
  }
  const visitor: JsonVisitor =
    operation.body === 'map'
      ? createMapVisitor(request, names, onMember)
      : createMemberVisitor(request, options, names, {
          onMember,
          onQueryObject: (object) => (query ??= object),
          onJob: (named) => (job = named),
        })
  return {
    json: new JsonTransformer(visitor, options.maxValueBytes, 'object', options.maxValues),
    members,
    getQueryObject: () => query,
    getJob: () => job,
    allowedMembers: names.allowed,
    freezeAuditedMembers() {
      isFrozen = true
      if (operation.effect !== 'read') names.freezeAllowed()
    },
  }
}

type OnMember = (name: string, value: unknown) => void

interface MemberListener {
  readonly onMember: OnMember
  readonly onQueryObject: (object: OpenObjectReference) => void
  readonly onJob: (job: NamedWork) => void
}

function createMemberVisitor(
  request: Matched,
  { retainsAll, retainsFilters, maxBatchEntries, openJob }: BodyCheckerOptions,
  members: BodyMembers,
  { onMember, onQueryObject, onJob }: MemberListener,
): JsonVisitor {
  const { operation } = request.route
  const { emptyIsAbsent } = operation
  const wanted = listWantedMembers(operation)
  let batchEntries = 0

  /** Members that are read as values; the other ones only for the names within them. */
  function isWanted(name: string): boolean {
    if (retainsAll) return true
    // Restated members are added to it while it is open.
    if (name === 'query') return retainsFilters && wanted.has(name)
    if (isFilterMember(name) && !retainsFilters) return false
    return wanted.has(name) || request.route.parameters.has(name)
  }

  function isWantedBelow(name: string, depth: number): boolean {
    if (depth !== 2 || members.nameAt(1) !== 'query') return false
    return name === 'id' || name === 'context' || factForQueryMember(operation, name) !== undefined
  }

  function replaceJobId(value: unknown): string | undefined {
    const job = typeof value === 'string' ? openJob(value) : undefined
    if (job === undefined) return undefined
    onJob(job)
    return JSON.stringify(job.upstreamId)
  }

  return {
    visitName(name, depth, object) {
      if (depth === 1 && name === 'identity') return 'removal'
      const form = members.enter(name, depth)
      if (depth === 2 && members.nameAt(1) === 'context' && isOverriddenByHeader(name, request))
        return 'removal'
      if (depth === 2 && members.nameAt(1) === 'query') {
        if (name === 'identity') throw queryIdentityError()
        onQueryObject(object)
      }
      const isValue = depth === 1 ? isWanted(name) : isWantedBelow(name, depth)
      if (isOpen(form)) return isValue ? 'value' : 'nothing'
      return isValue ? 'both' : 'members'
    },
    visitKind: (kind) => members.assertKind(kind),
    visitItem(depth) {
      if (operation.entries === undefined || depth !== 2) return
      if (members.nameAt(1) !== operation.entries.member) return
      batchEntries += 1
      if (batchEntries > maxBatchEntries)
        throw refusal(
          'batch_too_large',
          `the batch has more than ${maxBatchEntries} entries; send it in parts`,
        )
    },
    leaveMember: (depth) => members.leave(depth),
    isAbsentIfEmpty: (name, depth) => emptyIsAbsent.has(depth === 1 ? name : members.path),
    visitValue(text, name, depth) {
      if (depth > 1) {
        return checkQueryMember(request, name, JSON.parse(text))
      }
      const value: unknown = recordsNumbers(operation, name) ? parseExactJson(text) : JSON.parse(text)
      const namesJob = namesJobInBody(operation) && name === 'job_id'
      const replacement = namesJob ? replaceJobId(value) : checkMember(request, name, value)
      onMember(name, replacement === undefined ? value : JSON.parse(replacement))
      return replacement
    },
  }
}

function namesJobInBody({ namesJob, selectsJob }: Operation): boolean {
  return namesJob || selectsJob
}

/** Lists the members that repeat the route, state facts, name further objects or are recorded. */
const listWantedMembers = cacheByOperation((operation): ReadonlySet<string> => {
  const facts = operation.facts.flatMap(([, sources]) => sources.filter(({ in: part }) => part === 'body'))
  return new Set([
    'id',
    'context',
    'index_name',
    ...(namesJobInBody(operation) ? ['job_id'] : []),
    ...facts.map(({ name }) => name),
    ...listIdMembers(operation),
    ...listDetailMembers(operation),
  ])
})

/** Whether the intent records the exact numbers of that member. */
function recordsNumbers({ recorded, entries }: Operation, name: string): boolean {
  return recorded.includes(name) || entries?.member === name
}
