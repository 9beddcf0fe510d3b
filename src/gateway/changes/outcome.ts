import {
  type AuditedObject,
  type CreatedVersion,
  getBranch,
  type IntentEntry,
  listKeys,
  type Lookup,
  type LookupResult,
  type OutcomeEntry,
  truncateDetail,
} from '../../audit/index.ts'
import {
  type BatchEntries,
  CatalogError,
  errorCodes,
  findOperation,
  isErrorResponse,
  type Operation,
  uploadIdName,
} from '../../catalog-api/index.ts'
import { AttemptFailed, type UpstreamResponse } from '../upstream/upstream-attempt.ts'
import type { Payload } from '../body/checked-body.ts'
import type { Authenticated, Matched } from '../context.ts'
import { getMember, type JsonObject } from '../facts/stated-facts.ts'
import { transformInSteps } from '../json/json-transformer.ts'
import { runInSlices, type Steps } from '../../lib/index.ts'
import { getPrincipalKey } from '../../limits/index.ts'
import { getFailureReason } from '../upstream/upstream-error.ts'
import { ownOperations, type OwnClient } from '../upstream/own-client.ts'

/** A change that was sent to the upstream. */
interface SentChange extends Authenticated {
  readonly payload: Payload
  readonly intent: { readonly entry: IntentEntry } | undefined
}

/** Creates the outcome of a change with a response. */
export async function createOutcome(
  response: UpstreamResponse,
  request: SentChange,
  startedAt: number,
): Promise<OutcomeEntry> {
  const { status } = response
  const { operation } = request.route
  const isStated = status < 300 && response.body !== undefined && operation.effect !== 'read'
  // It goes on if the client has left.
  const holder = getPrincipalKey(request.principal)
  const body = isStated ? await runInSlices(readStated(response.body, operation), { holder }) : {}
  const entry = request.intent?.entry
  const versions = entry === undefined ? [] : readCreatedVersions(entry, body)
  // The versions of a batch belong to several tables.
  const version = operation.object === 'none' ? undefined : versions[0]?.version
  const uploadId = operation.multipart === 'begins' ? getMember(body, uploadIdName) : undefined
  return {
    result: getResult(status, operation),
    status,
    version,
    versions: versions.length > 0 ? versions : undefined,
    upload: getUploadFacts(request),
    durationMs: elapsedMs(startedAt),
    details: typeof uploadId === 'string' ? { [uploadIdName]: truncateDetail(uploadId) } : undefined,
  }
}

/**
 * Reads versions and upload ids from the success response to a change, as far as it is JSON. Callers may have made the
 * rest as large as they like, and parsing takes no pauses.
 */
function* readStated(body: Buffer, { entries }: Operation): Steps<JsonObject> {
  const wanted = new Set(['version', uploadIdName, entries?.results])
  const stated: Record<string, unknown> = {}
  try {
    yield* transformInSteps(body, {
      visitMember: ({ name, depth }) => (depth === 1 && wanted.has(name) ? 'value' : 'removal'),
      visitValue(text, { name }) {
        stated[name] = JSON.parse(text)
        return undefined
      },
    })
  } catch {
    // The change is done nevertheless.
  }
  return stated
}

function getResult(status: number, { effect }: Operation): OutcomeEntry['result'] {
  // Not modified: a successful read.
  if (status < 300 || (status === 304 && effect === 'read')) return 'committed'
  // Not implemented: the upstream has not even tried.
  return status < 500 || status === 501 ? 'rejected' : 'unknown'
}

/** Creates the outcome of a change without a response. */
export function createFailureOutcome(error: unknown, request: SentChange, startedAt: number): OutcomeEntry {
  return {
    result: isUnchanged(error) ? 'failed' : 'unknown',
    upload: getUploadFacts(request),
    durationMs: elapsedMs(startedAt),
    details: { reason: getFailureReason(error) },
  }
}

/** Of the errors that LanceDB's clients do not repeat (they do 409, 429, 500, 502, 503 and 504), the nearest in meaning. */
const unknownOutcomeStatus = 424

/** Whether a response with this status is one that the catalog or the gateway owed: it counts in spans and alerts. */
export function isFailureStatus(status: number): boolean {
  return status >= 500 || status === unknownOutcomeStatus
}

/** Whether the result of the change is unknown: the response is an error, but not one of the catalog itself. */
export function leavesOpen(
  { status, body }: UpstreamResponse,
  { route: { operation } }: SentChange,
): boolean {
  return getResult(status, operation) === 'unknown' && !isErrorResponse(body)
}

/**
 * The error for a change that may have been done: with its reason, and a status after which no client sends the change
 * again. 502, 503 and 504 are for changes that were certainly not done. Errors of reads, of the client (4xx), and others
 * than CatalogErrors are returned unchanged.
 */
export function toUnknownOutcome<Failure>(
  error: Failure,
  { route: { operation } }: Matched,
): Failure | CatalogError {
  if (operation.effect === 'read' || !(error instanceof CatalogError) || error.status < 500) return error
  const { message, reason, cause } = error
  const { 'retry-after': _, ...headers } = error.headers
  return new CatalogError(
    'Internal',
    `${message}; the change may have been done: look before sending it again`,
    { reason, status: unknownOutcomeStatus, headers, cause },
  )
}

/**
 * A request changes nothing before its first byte is sent. An Arrow stream marks its own end, so a catalog may have
 * accepted it as complete before the request was.
 */
function isUnchanged(error: unknown): boolean {
  return !(error instanceof AttemptFailed) || error.progress === 'unsent'
}

function elapsedMs(startedAt: number): number {
  return Math.round((performance.now() - startedAt) * 100) / 100
}

function getUploadFacts({ payload }: SentChange): OutcomeEntry['upload'] {
  return payload.form === 'none' ? undefined : payload.meter?.getFacts()
}

const maxTextLength = 1024

/**
 * Reads the versions that a change created from its success response: `{version: 7}`, `{version: {version: 7, ...}}`,
 * or those of a batch in the order of its entries. Empty if the response states none.
 */
function readCreatedVersions(change: IntentEntry, response: unknown): CreatedVersion[] {
  const { operation, effect, objects = [] } = change
  if (effect !== 'commit') return []
  const entries = findOperation(operation)?.entries
  if (entries === undefined) {
    const made = readCreatedVersion(change, getMember(response, 'version'))
    return made === undefined ? [] : [made]
  }
  const list = getMember(response, entries.results)
  if (!Array.isArray(list)) return []
  return objects.flatMap(
    (object, index) => readCreatedVersion(object, readEntryResult(entries, object, list[index])) ?? [],
  )
}

/** If the operations of entries differ, the result is in the member that held the entry. */
function readEntryResult(
  { operation: operations }: BatchEntries,
  { operation }: AuditedObject,
  result: unknown,
): unknown {
  if (typeof operations === 'string') return result
  const found = Object.entries(operations).find(([, name]) => name === operation)
  return found && getMember(getMember(result, found[0]), 'version')
}

/** Parses a version of the interface: a number or an object. Undefined for anything else. */
function readCreatedVersion(
  { id, details }: Pick<AuditedObject, 'id' | 'details'>,
  value: unknown,
): CreatedVersion | undefined {
  const version = readInteger(typeof value === 'number' ? value : getMember(value, 'version'))
  if (version === undefined) return undefined
  return {
    id,
    branch: getBranch(details),
    version,
    manifestPath: readText(getMember(value, 'manifest_path')),
    manifestSize: readInteger(getMember(value, 'manifest_size')),
    eTag: readText(getMember(value, 'e_tag')),
    metadataKeys: listKeys(getMember(value, 'metadata')),
  }
}

function readInteger(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined
}

function readText(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, maxTextLength) : undefined
}

/** Fetches the version of a lookup, or else the newest one. Throws Error if the version could not be determined. */
export async function fetchVersion(
  lookup: Lookup,
  client: OwnClient,
  signal: AbortSignal,
): Promise<LookupResult> {
  const { id, branch } = lookup
  const version = 'version' in lookup ? lookup.version : undefined
  const request = { operation: ownOperations.describeVersion, id, body: { id, branch, version } }
  const { status, body } = await client.readJson(request, signal)
  if (status === 200) {
    const found = readCreatedVersion({ id, details: { branch } }, getMember(body, 'version'))
    if (found === undefined) throw new Error('the response of the upstream has no version')
    return { found }
  }
  const code = status === 404 ? getMember(body, 'code') : undefined
  if (code === errorCodes.TableVersionNotFound.code) return { found: 'no version' }
  if (code === errorCodes.TableBranchNotFound.code) return { found: 'nothing', missingObject: 'the branch' }
  if (code === errorCodes.TableNotFound.code || code === errorCodes.NamespaceNotFound.code)
    return { found: 'nothing', missingObject: 'the table' }
  throw new Error(`the upstream returned status ${status}`)
}
