import { refusal } from '../../catalog-api/catalog-error.ts'
import { isWithin, type Identifier } from '../../catalog-api/identifiers.ts'
import type { uploadIdName } from '../../catalog-api/operations.ts'
import type { Steps } from '../../lib/async/run-in-slices.ts'
import type { JsonForm } from '../../lib/json/json-form.ts'
import { foldName } from '../../catalog-api/reserved-names.ts'
import { isListOfStrings, isObject } from '../../lib/json/json-values.ts'
import { concatChunks } from '../body/read-body.ts'
import { FormPath } from '../json/form-path.ts'
import { JsonTransformer, type JsonVisitor, type MemberInterest } from '../json/json-transformer.ts'

/** What is changed in the JSON of a response. */
export interface ResponseEdits {
  /** Whether storage credentials are removed at any depth. Options that only say where the store is remain. */
  readonly withholdsCredentials: boolean
  /** The members that remain; undefined for all. */
  readonly form: JsonForm | undefined
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
  return yield* transformResponse(body, new ResponseVisitor(edits))
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

/** How much of a text is taken at once: with the shortest members, some milliseconds of work. */
const transformedBytes = 64 * 1024

/** Rewrites the JSON of a response. Throws ServiceUnavailable (502) for a body that is not JSON. */
function* transformResponse(body: Buffer, visitor: JsonVisitor): Steps<Buffer> {
  const text = new JsonTransformer(visitor, body.length, 'any')
  const edited: Buffer[] = []
  try {
    for (let from = 0; from < body.length; from += transformedBytes) {
      yield* text.pushInSteps(body.subarray(from, from + transformedBytes))
      for (const chunk of text.takeReady()) edited.push(chunk)
    }
    text.end()
    for (const chunk of text.takeRest()) edited.push(chunk)
    return concatChunks(edited)
  } catch (error) {
    throw refusal('upstream_response_invalid', 'the response of the catalog is not JSON', { cause: error })
  }
}

class ResponseVisitor implements JsonVisitor {
  readonly #edits: ResponseEdits
  readonly #position: FormPath | undefined

  constructor(edits: ResponseEdits) {
    this.#edits = edits
    this.#position = edits.form && new FormPath(edits.form)
  }

  readonly visitName = (name: string, depth: number): MemberInterest => {
    if (this.#position !== undefined && this.#position.enter(name, depth) === undefined) return 'removal'
    if (this.#edits.withholdsCredentials) {
      if (name === optionsMember) return this.#position === undefined ? 'value' : 'removal'
      if (isCredentialName(name)) return 'removal'
    }
    return depth === 1 && this.#isId(name) ? 'both' : 'members'
  }

  readonly leaveMember = (depth: number): void => this.#position?.leave(depth)

  readonly visitValue = (text: string, name: string): string | null | undefined => {
    const value: unknown = JSON.parse(text)
    if (name === optionsMember) {
      const options = selectPublicOptions(value)
      // Clients with empty options ignore those of their environment.
      return Object.keys(options).length === 0 ? null : JSON.stringify(options)
    }
    const { replacedId, database } = this.#edits
    if (idMembers.has(name)) {
      const isBeneath = isListOfStrings(value) && isWithin(value, database)
      return isBeneath ? JSON.stringify(value.slice(database.length)) : undefined
    }
    const isReplaced = replacedId?.member === name && typeof value === 'string' && value !== ''
    return isReplaced ? JSON.stringify(replacedId.replace(value)) : undefined
  }

  #isId(name: string): boolean {
    const { replacedId, database } = this.#edits
    return name === replacedId?.member || (database.length > 0 && idMembers.has(name))
  }
}

/** Whether a body begins neither an object nor a list. */
function isText(body: Buffer): boolean {
  return !/^\s*[{[]/.test(body.toString('latin1', 0, 64))
}

/** Members that hold the id of the object. */
export const idMembers: ReadonlySet<string> = new Set(['id', 'namespace'])

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

function isCredentialName(name: string): boolean {
  return credentialName.test(foldName(name))
}

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

function selectPublicOptions(options: unknown): object {
  if (!isObject(options)) return {}
  return Object.fromEntries(Object.entries(options).filter(isPublic))
}

function isPublic([name, value]: [string, unknown]): boolean {
  return typeof value === 'string' && publicOptions.get(name)?.test(value) === true
}
