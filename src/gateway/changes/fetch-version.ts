import { randomUUID } from 'node:crypto'
import type { LookupResult } from '../../audit/in-doubt/decide-resolution.ts'
import type { ObjectId } from '../../audit/records/audit-record.ts'
import { errorCodes } from '../../catalog-api/catalog-error.ts'
import { requestIdHeader } from '../../catalog-api/headers.ts'
import { defaultDelimiter } from '../../catalog-api/identifiers.ts'
import { getOperation } from '../../catalog-api/operations.ts'
import { getMember } from '../facts/stated-facts.ts'
import { readCreatedVersion } from './created-versions.ts'
import { sendRequest } from '../../http1/client/send-request.ts'
import { buildUpstreamTarget } from '../upstream/upstream-target.ts'
import type { Upstream } from '../upstream/upstream.ts'

/** The response is one version; its metadata may be long. */
const maxResponseBytes = 1024 * 1024
const timeoutMs = 30_000

/** Selects a version of a branch; the newest one without a number. */
interface VersionQuery {
  readonly id: ObjectId
  /** Undefined for the main branch. */
  readonly branch: string | undefined
  readonly version?: number
}

/** The gateway holds slots like a principal. */
const gatewayHolder = Symbol('gateway')

const describeVersion = getOperation('DescribeTableVersion')

/**
 * Fetches a version, or the newest one, from an upstream with the credentials of the gateway. Clients have priority:
 * the request fails at once if no slot is free or the circuit is open. Throws Error if the version could not be
 * determined.
 */
export async function fetchVersion(
  upstream: Upstream,
  query: VersionQuery,
  signal: AbortSignal,
): Promise<LookupResult> {
  if (upstream.breaker.state === 'open') throw new Error('the circuit of the upstream is open')
  const slots = upstream.slots.small
  if (!slots.take(gatewayHolder)) throw new Error('the upstream is busy')
  try {
    const { status, body } = await requestVersion(
      upstream,
      query,
      AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    )
    if (status === 200) return { found: readVersion(query, body) }
    const code = getMember(body, 'code')
    if (status === 404 && code === errorCodes.TableVersionNotFound.code) return { found: 'no version' }
    if (status === 404 && code === errorCodes.TableBranchNotFound.code)
      return { found: 'nothing', missingObject: 'the branch' }
    if (
      status === 404 &&
      (code === errorCodes.TableNotFound.code || code === errorCodes.NamespaceNotFound.code)
    ) {
      return { found: 'nothing', missingObject: 'the table' }
    }
    throw new Error(`the upstream returned status ${status}`)
  } finally {
    slots.release(gatewayHolder)
  }
}

async function requestVersion(
  upstream: Upstream,
  { id, branch, version }: VersionQuery,
  signal: AbortSignal,
) {
  const path = buildUpstreamTarget(upstream, {
    operation: describeVersion,
    id,
    delimiter: defaultDelimiter,
    indexName: undefined,
    parameters: new Map(),
  })
  const request = {
    method: describeVersion.method,
    path,
    headers: ['content-type', 'application/json', requestIdHeader, randomUUID(), ...upstream.fixedHeaders],
    body: Buffer.from(JSON.stringify({ id, branch, version })),
  }
  const { status, body } = await sendRequest(upstream.client, request, maxResponseBytes, signal)
  return { status, body: JSON.parse(body.toString('utf8')) as unknown }
}

function readVersion({ id, branch }: VersionQuery, body: unknown) {
  const made = readCreatedVersion({ id, details: { branch } }, getMember(body, 'version'))
  if (made === undefined) throw new Error('the response of the upstream has no version')
  return made
}
