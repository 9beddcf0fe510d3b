import {
  assertIdentifier,
  formatIdentifierForMessage,
  type Identifier,
  invalidInput,
  quoteForMessage,
  type RequestOf,
  type ResponseOf,
} from 'catalog-gateway/catalog-api'
import type { CatalogDatabase } from '../../database/database-schema.ts'
import { findFunction, insertFunction } from '../../database/functions.ts'
import { insertJob, type Job } from '../../database/jobs.ts'
import { findObject, fromPath, toPath } from '../../database/objects.ts'
import { findSecret } from '../../database/secrets.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import { requireNameInNamespace } from '../context/require-objects.ts'
import { toFunctionVersion } from './function-version.ts'

type Request = RequestOf<'CreateFunction'>

const operation = 'CreateFunction'
/** Each is looked up. */
const maxSecretBindings = 100
/** In JSON. A listing reads several. */
const maxDefinitionBytes = 256 * 1024

/**
 * Stores the next version of a function as it was sent. Nothing is built, so its job is finished; its result is the version.
 * Throws NamespaceNotFound (404), and InvalidInput (400) for a secret that does not exist and for a definition that is too
 * large.
 */
export async function createFunction(
  { database }: CatalogContext,
  id: Identifier,
  request: Request,
): Promise<ResponseOf<typeof operation>> {
  const { artifact, signature, runtime, secret_bindings: bindings = [] } = request
  const { content, ...artifactIdentity } = artifact
  const definition = {
    artifact: artifactIdentity,
    signature,
    ...(runtime && { runtime }),
    ...(bindings.length > 0 && { secret_bindings: bindings }),
  }
  const size = Buffer.byteLength(JSON.stringify(definition))
  if (size > maxDefinitionBytes) {
    throw invalidInput(
      `a function without the content of its artifact has ${size} bytes; expected at most ${maxDefinitionBytes}`,
    )
  }
  const jobId = await database.transaction().execute(async (database) => {
    const named = await requireNameInNamespace(database, id)
    await requireBoundSecrets(database, bindings)
    const { name, version, objectId } = await insertFunction(database, named, definition, content)
    const job = { operation, objectId, path: toPath(id), request: { name, version: String(version) } }
    return await insertJob(database, job, {})
  })
  return { job_id: jobId }
}

/** The version that a job of CreateFunction created, without the content of its artifact; undefined if it was dropped. */
export async function findCreatedFunction(
  database: CatalogDatabase,
  { objectId, path, request }: Pick<Job, 'objectId' | 'path' | 'request'>,
) {
  const id = fromPath(path)
  const namespacePath = id.slice(0, -1)
  const namespace = await findObject(database, namespacePath)
  if (namespace?.kind !== 'namespace') return undefined
  const named = { namespaceId: namespace.objectId, name: id.at(-1) ?? '' }
  const found = await findFunction(database, named, Number(request['version']))
  return found?.entry.objectId === objectId ? toFunctionVersion(namespacePath, found.entry) : undefined
}

async function requireBoundSecrets(
  database: CatalogDatabase,
  bindings: NonNullable<Request['secret_bindings']>,
): Promise<void> {
  if (bindings.length > maxSecretBindings) {
    throw invalidInput(
      `secret_bindings has ${bindings.length} entries; a function has at most ${maxSecretBindings}`,
    )
  }
  for (const { variable, secret_ref: reference } of bindings) {
    const { name, namespace_path: namespacePath = [] } = reference
    const id = assertIdentifier([...namespacePath, name])
    const namespace = await findObject(database, namespacePath)
    const secret =
      namespace?.kind === 'namespace' &&
      (await findSecret(database, { namespaceId: namespace.objectId, name }))
    if (secret) continue
    throw invalidInput(
      `there is no secret ${formatIdentifierForMessage(id)}, to which secret_bindings binds the variable ${quoteForMessage(variable)}; create it first`,
    )
  }
}
