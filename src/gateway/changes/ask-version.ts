import { randomUUID } from 'node:crypto'
import type { Look } from '../../audit/judge-look.ts'
import type { ObjectId } from '../../audit/records.ts'
import { errorCodes } from '../../interface/errors.ts'
import { requestIdHeader } from '../../interface/headers.ts'
import { defaultDelimiter } from '../../interface/identifiers.ts'
import { operationNamed } from '../../interface/operations.ts'
import { memberOf } from '../facts/read-facts.ts'
import { madeVersion } from './made-versions.ts'
import { readResponse } from '../../http1/client/read-response.ts'
import { upstreamTarget } from '../upstream/upstream-target.ts'
import type { Upstream } from '../upstream/upstream.ts'

/** The answer is one version; its metadata may be long. */
const maximumBytes = 1024 * 1024
const maximumMs = 30_000

/** A version of a branch; without a number its newest one. */
interface VersionQuery {
  readonly id: ObjectId
  /** Undefined for the main branch. */
  readonly branch: string | undefined
  readonly version?: number
}

/** Holds slots like a principal. */
const gatewayItself = Symbol('gateway')

const describeVersion = operationNamed('DescribeTableVersion')

/**
 * Asks an upstream for a version, or for the newest one, in the name of the gateway itself. It gives way to clients:
 * it fails at once if no slot is free or the circuit is open. Throws Error if nothing was learnt.
 */
export async function askVersion(
  upstream: Upstream,
  query: VersionQuery,
  signal: AbortSignal,
): Promise<Look> {
  if (upstream.breaker.state === 'open') throw new Error('the circuit of the upstream is open')
  const slots = upstream.slots.small
  if (!slots.take(gatewayItself)) throw new Error('the upstream is busy')
  try {
    const { status, body } = await send(
      upstream,
      query,
      AbortSignal.any([signal, AbortSignal.timeout(maximumMs)]),
    )
    if (status === 200) return { found: versionIn(query, body) }
    const code = memberOf(body, 'code')
    if (status === 404 && code === errorCodes.TableVersionNotFound.code) return { found: 'no version' }
    if (status === 404 && code === errorCodes.TableBranchNotFound.code)
      return { found: 'nothing', what: 'the branch' }
    if (
      status === 404 &&
      (code === errorCodes.TableNotFound.code || code === errorCodes.NamespaceNotFound.code)
    ) {
      return { found: 'nothing', what: 'the table' }
    }
    throw new Error(`the upstream returned status ${status}`)
  } finally {
    slots.release(gatewayItself)
  }
}

async function send(upstream: Upstream, { id, branch, version }: VersionQuery, signal: AbortSignal) {
  const path = upstreamTarget(upstream, {
    operation: describeVersion,
    id,
    delimiter: defaultDelimiter,
    indexName: undefined,
    parameters: new Map(),
  })
  const request = {
    method: describeVersion.method,
    path,
    headers: ['content-type', 'application/json', requestIdHeader, randomUUID(), ...upstream.ownHeaders],
    body: Buffer.from(JSON.stringify({ id, branch, version })),
  }
  const { status, body } = await readResponse(upstream.client, request, maximumBytes, signal)
  return { status, body: JSON.parse(body.toString('utf8')) as unknown }
}

function versionIn({ id, branch }: VersionQuery, body: unknown) {
  const made = madeVersion({ id, details: { branch } }, memberOf(body, 'version'))
  if (made === undefined) throw new Error('the response of the upstream has no version')
  return made
}
