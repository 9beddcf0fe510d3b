import type { LookupResult, ObjectId } from '../../audit/index.ts'
import { errorCodes } from '../../catalog-api/catalog-error.ts'
import { getMember } from '../facts/stated-facts.ts'
import { ownOperations } from '../upstream/own-operations.ts'
import { readCreatedVersion } from './created-versions.ts'
import type { SendGatewayRequest } from './send-gateway-request.ts'

/** Selects a version of a branch; the newest one without a number. */
interface VersionQuery {
  readonly id: ObjectId
  /** Undefined for the main branch. */
  readonly branch: string | undefined
  readonly version?: number
}

/** Fetches a version, or the newest one. Throws what `send` throws, and Error if the version could not be determined. */
export async function fetchVersion(query: VersionQuery, send: SendGatewayRequest): Promise<LookupResult> {
  const { id, branch, version } = query
  const { status, body } = await send({
    operation: ownOperations.describeVersion,
    id,
    body: { id, branch, version },
  })
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
}

function readVersion({ id, branch }: VersionQuery, body: unknown) {
  const made = readCreatedVersion({ id, details: { branch } }, getMember(body, 'version'))
  if (made === undefined) throw new Error('the response of the upstream has no version')
  return made
}
