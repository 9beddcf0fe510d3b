import {
  foldName,
  getResponseForm,
  type Identifier,
  isOperationName,
  isWithin,
  refusal,
  type StatedFacts,
  uploadIdName,
} from '../../catalog-api/index.ts'
import { getMembers, isListOfStrings, type JsonForm, noValue, type Steps } from '../../lib/index.ts'
import { transformInSteps, type JsonVisitor } from '../json/json-transformer.ts'
import type { Authenticated } from '../context.ts'
import type { NamedWork, SealedIds } from '../sealed-tokens.ts'
import type { CallerRestriction } from '../../policy/index.ts'
import { trimDescription } from '../restrictions/restricted-response.ts'

/** Changes of the JSON of a response. */
interface ResponseEdits {
  /** Whether storage credentials are removed at any depth. Options that only say where the store is remain. */
  readonly withholdsCredentials: boolean
  /** The members that remain, but those that are omitted at any depth; undefined for all. */
  readonly form: JsonForm | undefined
  readonly omitted: readonly string[]
  /** Whether the catalog API gives no members to the response: a number, or a text such as a query plan. */
  readonly mayBeText: boolean
  readonly replacedId: ReplacedId | undefined
  /** The namespace that ids of the object become relative to; empty for the root. */
  readonly database: Identifier
}

/** A member of the response that names started work. */
interface ReplacedId {
  readonly member: 'job_id' | typeof uploadIdName
  /** Returns the id that replaces the one of the upstream. */
  readonly replace: (upstreamId: string) => string
}

/**
 * Edits the body of a response. A body without anything to edit is returned as it is. Throws ServiceUnavailable (502)
 * for a body that is not JSON but has to be edited, because its content cannot be checked.
 */
export function* editResponse(body: Buffer, edits: ResponseEdits): Steps<Buffer> {
  if (body.length === 0 || (edits.mayBeText && isText(body)) || !(yield* isEdited(body, edits))) return body
  try {
    return yield* transformInSteps(body, createVisitor(edits))
  } catch (error) {
    throw refusal('upstream_response_invalid', 'the response of the catalog is not JSON', { cause: error })
  }
}

/** Whether the body may contain anything that is edited. Almost no response does, and searching is faster than reading. */
function* isEdited(body: Buffer, edits: ResponseEdits): Steps<boolean> {
  const { withholdsCredentials, form, replacedId, database } = edits
  if (form !== undefined || database.length > 0) return true
  if (replacedId !== undefined && body.includes(replacedId.member)) return true
  return withholdsCredentials && (yield* mayContainCredential(body))
}

const quote = 0x22
const searchedBytes = 16 * 1024

/** Searches in pieces that end at a quote, which no name contains unless it is escaped. */
function* mayContainCredential(body: Buffer): Steps<boolean> {
  for (let from = 0; from < body.length; yield) {
    const limit = from + searchedBytes
    const end = limit < body.length ? body.lastIndexOf(quote, limit) : body.length
    // A text that is longer than a piece is read exactly.
    if (end <= from || possibleCredential.test(body.toString('latin1', from, end))) return true
    from = end
  }
  return false
}

function createVisitor(edits: ResponseEdits): JsonVisitor {
  const { withholdsCredentials, form, omitted, replacedId, database } = edits
  const isId = (name: string): boolean =>
    name === replacedId?.member || (database.length > 0 && idMembers.has(name))
  return {
    form,
    visitMember({ name, depth, form: described, object }) {
      const isDescribed =
        described !== undefined && !(omitted.includes(name) && object.form.members.has(name))
      if (form !== undefined && !isDescribed) return 'removal'
      if (withholdsCredentials) {
        if (name === optionsMember) return form === undefined ? 'value' : 'removal'
        if (credentialName.test(foldName(name))) return 'removal'
      }
      return depth === 1 && isId(name) ? 'both' : 'members'
    },
    visitValue(text, { name }) {
      const value: unknown = JSON.parse(text)
      if (name === optionsMember) {
        const options = Object.fromEntries(Object.entries(getMembers(value)).filter(isPublic))
        // Clients with empty options ignore those of their environment.
        return Object.keys(options).length === 0 ? null : JSON.stringify(options)
      }
      if (idMembers.has(name)) {
        const isBeneath = isListOfStrings(value) && isWithin(value, database)
        return isBeneath ? JSON.stringify(value.slice(database.length)) : undefined
      }
      const isReplaced = replacedId?.member === name && typeof value === 'string' && value !== ''
      return isReplaced ? JSON.stringify(replacedId.replace(value)) : undefined
    },
  }
}

/** Whether a body begins neither an object nor a list. */
function isText(body: Buffer): boolean {
  return !/^\s*[{[]/.test(body.toString('latin1', 0, 64))
}

/** Members that hold the id of the object. */
const idMembers: ReadonlySet<string> = new Set(['id', 'namespace'])

const optionsMember = 'storage_options'

/** Parts of names of storage credentials, as servers and storage libraries call them, folded. */
export const credentialWords = [
  'storageoptions',
  'expiresatmillis',
  'credential',
  'accesskey',
  'accountkey',
  'masterkey',
  'saskey',
  'sastoken',
  'sessiontoken',
  'storagetoken',
  'bearertoken',
  'clientsecret',
  'googleserviceaccount',
  'serviceaccountkey',
] as const

const credentialName = new RegExp(credentialWords.join('|'))

/** Matches texts in which a name may be that of a credential: escapes and other scripts are read exactly. */
const possibleCredential = new RegExp(
  [String.raw`\\|[^\x00-\x7f]`, ...credentialWords.map(spreadLetters)].join('|'),
  'i',
)

/** A pattern of a word whose letters may have between them what `foldName` ignores in ASCII. */
function spreadLetters(word: string): string {
  return word.split('').join(String.raw`[-_\s\x00-\x1f\x7f]*`)
}

const region = /^[a-z0-9-]{1,64}$/
/** Without user and query, which may contain secrets such as the signature of an Azure URL. */
const endpoint = /^https?:\/\/[\w.:/[\]~-]{1,1024}$/
const boolean = /^(true|false)$/

/**
 * The storage options that contain no secrets, each with the form of its values. It is an allow-list: an option that
 * the gateway does not know may be a secret.
 */
const publicOptions: ReadonlyMap<string, RegExp> = new Map([
  ['aws_region', region],
  ['aws_default_region', region],
  ['region', region],
  ['default_region', region],
  ['aws_endpoint', endpoint],
  ['aws_endpoint_url', endpoint],
  ['azure_storage_endpoint', endpoint],
  ['endpoint', endpoint],
  ['endpoint_url', endpoint],
  ['aws_virtual_hosted_style_request', boolean],
  ['virtual_hosted_style_request', boolean],
  ['allow_http', boolean],
  ['azure_storage_account_name', /^[a-z0-9]{3,24}$/],
])

function isPublic([name, value]: [string, unknown]): boolean {
  return typeof value === 'string' && publicOptions.get(name)?.test(value) === true
}

/** A request whose response may contain more than its caller may see. */
interface PermittedRequest extends Authenticated {
  readonly upstream: { readonly name: string }
  readonly permit: {
    readonly stated: StatedFacts
    readonly withholdsCredentials: boolean
    readonly withholdsDescription: boolean
  }
  readonly headPermit: { readonly restriction: CallerRestriction | undefined }
  readonly body: { readonly job: NamedWork | undefined }
}

/** Edits the body of a response. Throws ServiceUnavailable (502) for a body that is not JSON but has to be edited. */
export type ResponseEditor = (body: Buffer) => Steps<Buffer>

/**
 * Creates the editor of the response to a request: without data that the caller may not see, and with ids as the caller sent
 * them. Undefined if the response is streamed as it comes.
 */
export function createResponseEditor(
  request: PermittedRequest,
  sealedIds: SealedIds,
): ResponseEditor | undefined {
  const { route, headPermit } = request
  const edits = createResponseEdits(request, sealedIds)
  const columns = route.operation.readsPart === 'description' ? headPermit.restriction?.columns : undefined
  if (edits === undefined && columns === undefined) return undefined
  return function* editBody(body) {
    const trimmed = columns === undefined ? body : yield* trimDescription(body, columns)
    return edits === undefined ? trimmed : yield* editResponse(trimmed, edits)
  }
}

function createResponseEdits(request: PermittedRequest, sealedIds: SealedIds): ResponseEdits | undefined {
  const { operation } = request.route
  const { withholdsCredentials, withholdsDescription } = request.permit
  if (operation.response !== 'json' || operation.lists !== undefined) return undefined
  const described = getResponseForm(operation)
  const mayBeText = described?.kinds.has('object') === false
  // A map is the whole description.
  const remaining = operation.body === 'map' ? noValue : described
  const form = withholdsDescription && described !== undefined && !mayBeText ? remaining : undefined
  const replacedId = createIdReplacement(request, sealedIds)
  const namesObject = described !== undefined && [...idMembers].some((name) => described.members.has(name))
  // The client reads ids as relative to its database.
  const database = namesObject ? request.database : []
  const isEdited =
    withholdsCredentials || form !== undefined || replacedId !== undefined || database.length > 0
  return isEdited
    ? { withholdsCredentials, form, omitted: operation.describes, mayBeText, replacedId, database }
    : undefined
}

/**
 * A caller sees one id of a job: the one that it sent, or that of the response to the request which started the job,
 * sealed so that its caller can follow the job. Jobs of operations with facts besides the branch keep theirs: the
 * permission to start them again depends on more than a sealed id contains. A multipart write has a sealed id only.
 */
function createIdReplacement(
  { route, permit, principal, upstream, body: { job } }: PermittedRequest,
  sealedIds: SealedIds,
): ResponseEdits['replacedId'] {
  if (job !== undefined)
    return { member: 'job_id', replace: (id) => (id === job.upstreamId ? job.sealedId : id) }
  const { operation, id } = route
  const { name } = operation
  const startsJobs =
    operation.effect !== 'read' &&
    operation.object !== 'none' &&
    operation.body !== 'map' &&
    operation.facts.every(([fact]) => fact === 'branch')
  if (!startsJobs || !isOperationName(name)) return undefined
  const begins = operation.multipart === 'begins'
  const started = { upstream: upstream.name, operation: name, id, branch: permit.stated.branch }
  return {
    member: begins ? uploadIdName : 'job_id',
    replace: (upstreamId) =>
      sealedIds.seal(begins ? 'multipart write' : 'job', { ...started, upstreamId }, principal),
  }
}
