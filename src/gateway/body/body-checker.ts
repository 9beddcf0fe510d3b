import { isExtraOperation } from '../../catalog-api/extra-operation.ts'
import { decisiveMembers, isDecisiveMember } from '../../catalog-api/decisive-members.ts'
import { refusal, type CatalogError } from '../../catalog-api/catalog-error.ts'
import { quoteForMessage } from '../../catalog-api/identifiers.ts'
import type { Operation } from '../../catalog-api/operations.ts'
import type { NamedJob } from '../facts/started-jobs.ts'
import type { JsonObject } from '../facts/stated-facts.ts'
import { listDetailMembers, isFilterMember } from '../facts/change-details.ts'
import type { Matched } from '../context.ts'
import { assertQueryMemberName, checkMember, checkQueryMember } from './check-member.ts'
import { isOverriddenByHeader } from './body-context.ts'
import { parseExactJson } from '../json/exact-json.ts'
import {
  JsonTransformer,
  type MemberInterest,
  type JsonVisitor,
  type OpenObjectReference,
} from '../json/json-transformer.ts'
import { assertMemberSpelling } from '../facts/member-spelling.ts'
import { createMapVisitor } from './map-visitor.ts'

/** Checks a JSON body chunk by chunk. */
export interface BodyChecker {
  /** Rejects JSON that parsers read differently, and each member as soon as it contradicts the route. */
  readonly json: JsonTransformer
  /** Members read so far: all but `identity`, or only those that repeat the route, state facts or are recorded. */
  readonly members: JsonObject
  /** The object `query` of the body, once a member of it has been read. */
  getQueryObject(): OpenObjectReference | undefined
  /** The job that the body names by a sealed id. */
  getJob(): NamedJob | undefined
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
  /** Returns the job of a sealed id. */
  readonly openJob: (jobId: string) => NamedJob | undefined
}

export function createBodyChecker(request: Matched, options: BodyCheckerOptions): BodyChecker {
  const { operation } = request.route
  // No prototype: `__proto__` is a name like any other.
  const members: Record<string, unknown> = { __proto__: null }
  let isFrozen = false
  let query: OpenObjectReference | undefined
  let job: NamedJob | undefined
  const onMember: OnMember = (name, value) => {
    const isLate = isFrozen && operation.effect !== 'read' && listDetailMembers(operation).has(name)
    if (isLate) throw lateMemberError(name)
    members[name] = value
  }
  const visitor: JsonVisitor =
    operation.body === 'map'
      ? createMapVisitor(request, onMember)
      : createMemberVisitor(request, options, {
          onMember,
          onQueryObject: (object) => (query ??= object),
          onJob: (named) => (job = named),
        })
  return {
    json: new JsonTransformer(visitor, options.maxValueBytes),
    members,
    getQueryObject: () => query,
    getJob: () => job,
    freezeAuditedMembers() {
      isFrozen = true
    },
  }
}

type OnMember = (name: string, value: unknown) => void

interface MemberListener {
  readonly onMember: OnMember
  readonly onQueryObject: (object: OpenObjectReference) => void
  readonly onJob: (job: NamedJob) => void
}

function createMemberVisitor(
  request: Matched,
  { retainsAll, retainsFilters, openJob }: BodyCheckerOptions,
  { onMember, onQueryObject, onJob }: MemberListener,
): JsonVisitor {
  const { operation, parameters } = request.route
  const recorded = listDetailMembers(operation)
  const isExtra = isExtraOperation(operation)
  const { emptyIsAbsent } = operation
  const holdsOptional = listOptionalParents(operation)
  /** Names of the open members by depth; lists have none, so the path of an object in a list equals no other. */
  const path: string[] = []

  function interestInBody(name: string): MemberInterest {
    assertMemberSpelling(name)
    if (name === 'identity') return 'removal'
    if (name === 'context') return 'both'
    if (retainsAll) return 'both'
    // An object in it may state facts, so it is never skipped.
    if (name === 'query' && !isExtra) return retainsFilters && recorded.has(name) ? 'both' : 'members'
    if (isFilterMember(name) && !retainsFilters) return 'nothing'
    const isWanted =
      name === 'id' ||
      name === 'index_name' ||
      isDecisiveMember(name) ||
      (isExtra && decisiveMembers.has(name)) ||
      recorded.has(name) ||
      parameters.has(name)
    if (isWanted) return 'value'
    return holdsOptional.has(name) ? 'members' : 'nothing'
  }

  function replaceJobId(value: unknown): string | undefined {
    const job = typeof value === 'string' ? openJob(value) : undefined
    if (job === undefined) return undefined
    onJob(job)
    return JSON.stringify(job.jobId)
  }

  return {
    visitName(name, depth, object) {
      path.length = depth
      path[depth] = name
      if (depth === 1) return interestInBody(name)
      const [, parent] = path
      if (depth === 2 && parent === 'context')
        return isOverriddenByHeader(name, request) ? 'removal' : 'nothing'
      if (depth === 2 && parent === 'query') {
        onQueryObject(object)
        return queryMemberInterest(name)
      }
      return parent !== undefined && holdsOptional.has(parent) ? 'members' : 'nothing'
    },
    isAbsentIfEmpty: (name, depth) =>
      depth === 1
        ? emptyIsAbsent.has(name)
        : holdsOptional.has(path[1] ?? '') && emptyIsAbsent.has(path.slice(1).join('.')),
    visitValue(text, name, depth) {
      if (depth > 1) {
        checkQueryMember(request, name, JSON.parse(text))
        return undefined
      }
      const value: unknown = recordsNumbers(operation, name) ? parseExactJson(text) : JSON.parse(text)
      const namesJob = operation.namesJob && name === 'job_id'
      const replacement = namesJob ? replaceJobId(value) : checkMember(request, name, value)
      onMember(name, replacement === undefined ? value : JSON.parse(replacement))
      return replacement
    },
  }
}

/** Whether the intent records the exact numbers of that member. */
function recordsNumbers({ recorded, entries }: Operation, name: string): boolean {
  return recorded.includes(name) || entries?.member === name
}

const parentsByOperation = new WeakMap<Operation, ReadonlySet<string>>()

/** Lists the members that contain members which count as absent if they are empty. */
function listOptionalParents(operation: Operation): ReadonlySet<string> {
  let names = parentsByOperation.get(operation)
  if (names === undefined) {
    const nested = [...operation.emptyIsAbsent].filter((path) => path.includes('.'))
    parentsByOperation.set(operation, (names = new Set(nested.map((path) => path.split('.')[0] ?? ''))))
  }
  return names
}

function queryMemberInterest(name: string): MemberInterest {
  assertQueryMemberName(name)
  return name === 'id' || name === 'context' || isDecisiveMember(name) ? 'value' : 'members'
}

function lateMemberError(name: string): CatalogError {
  return refusal(
    'invalid_body',
    `${quoteForMessage(name)} is too late in a body of this size; send it before large members`,
  )
}
