import {
  functionOrSecretNotFound,
  type Identifier,
  type RequestOf,
  type ResponseOf,
} from 'catalog-gateway/catalog-api'
import {
  findSecret,
  insertSecret,
  listSecretNames,
  removeSecret,
  replaceSecret,
} from '../../database/secrets.ts'
import type { CatalogContext } from '../context/catalog-context.ts'
import {
  requireNameInNamespace,
  requireNamespace,
  tableAlreadyExistsError,
} from '../context/require-objects.ts'
import { pageTokenMember, toPage, toSlice } from '../namespaces/listings.ts'

/** Throws NamespaceNotFound (404), TableAlreadyExists (409) if the name is taken, and like `SealValue`. */
export async function createSecret(
  { database, sealValue }: CatalogContext,
  id: Identifier,
  { value }: RequestOf<'CreateSecret'>,
): Promise<ResponseOf<'CreateSecret'>> {
  const sealed = sealValue(id, value)
  await database.transaction().execute(async (database) => {
    const named = await requireNameInNamespace(database, id)
    if (!(await insertSecret(database, named, sealed))) throw tableAlreadyExistsError(id)
  })
  return {}
}

/** Replaces the value. Throws NamespaceNotFound, TableNotFound (404), and like `SealValue`. */
export async function alterSecret(
  { database, sealValue }: CatalogContext,
  id: Identifier,
  { value }: RequestOf<'AlterSecret'>,
): Promise<ResponseOf<'AlterSecret'>> {
  const sealed = sealValue(id, value)
  const named = await requireNameInNamespace(database, id)
  if (!(await replaceSecret(database, named, sealed))) throw functionOrSecretNotFound('secret', id)
  return {}
}

/** Returns no value. Throws NamespaceNotFound, TableNotFound (404). */
export async function describeSecret(
  { database }: CatalogContext,
  id: Identifier,
): Promise<ResponseOf<'DescribeSecret'>> {
  const named = await requireNameInNamespace(database, id)
  const secret = await findSecret(database, named)
  if (secret === undefined) throw functionOrSecretNotFound('secret', id)
  return { name: named.name, created_at_millis: secret.createdAt, updated_at_millis: secret.updatedAt }
}

/** Functions that it is bound to stay. Throws NamespaceNotFound, TableNotFound (404). */
export async function dropSecret(
  { database }: CatalogContext,
  id: Identifier,
): Promise<ResponseOf<'DropSecret'>> {
  const named = await requireNameInNamespace(database, id)
  if (!(await removeSecret(database, named))) throw functionOrSecretNotFound('secret', id)
  return {}
}

/** Lists the names of the secrets of a namespace in the byte order of UTF-8. The token is the last name. */
export async function listSecrets(
  { database }: CatalogContext,
  id: Identifier,
  request: RequestOf<'ListSecrets'>,
): Promise<ResponseOf<'ListSecrets'>> {
  const { objectId } = await requireNamespace(database, id)
  const slice = toSlice(request)
  const { entries, token } = toPage(
    await listSecretNames(database, objectId, slice),
    slice.after,
    request.limit,
  )
  return { secrets: entries.map((name) => ({ name })), ...pageTokenMember(token) }
}
