import {
  assertIdentifier,
  errorCodes,
  type Identifier,
  isWithin,
  type Operation,
} from '../../catalog-api/index.ts'
import type { ListedVersion } from '../../audit/index.ts'
import { isListOfStrings, isObject } from '../../lib/index.ts'
import { getMember } from '../facts/stated-facts.ts'
import type { Upstream } from '../upstream/upstream.ts'
import { findServedId, type Upstreams } from '../upstream/upstreams.ts'
import { ownOperations, type OwnClient } from '../upstream/own-client.ts'

/** Versions have metadata of any length. */
const versionsPageSize = 100

const listings = { tables: ownOperations.listTables, namespaces: ownOperations.listNamespaces }
const { listBranches, listVersions } = ownOperations

/**
 * Lists the tables of an upstream in a namespace and beneath, page by page: those that a request could name and that would
 * be sent to this upstream. Throws Error if a listing fails.
 */
export async function* listUpstreamTables(
  upstream: Upstream,
  upstreams: Pick<Upstreams, 'forId'>,
  root: Identifier,
): AsyncGenerator<Identifier, void> {
  const mounts = upstream.namespaces ?? [[]]
  const namespaces = mounts.some((mount) => isWithin(root, mount))
    ? [root]
    : mounts.filter((mount) => isWithin(mount, root))
  for (let namespace = namespaces.shift(); namespace !== undefined; namespace = namespaces.shift()) {
    yield* list('tables', namespace)
    for await (const child of list('namespaces', namespace)) namespaces.push(child)
  }

  async function* list(
    member: keyof typeof listings,
    namespace: Identifier,
  ): AsyncGenerator<Identifier, void> {
    for await (const { status, body } of upstream.own.readPages(listings[member], namespace)) {
      const isRemoved = status === 404 && getMember(body, 'code') === errorCodes.NamespaceNotFound.code
      // The root of some catalogs cannot have tables.
      if (isRemoved || (status === 400 && member === 'tables')) return
      const names = getMember(body, member)
      if (status !== 200 || !isListOfStrings(names)) throw unexpectedStatus(listings[member], status)
      for (const name of names) {
        const id = findServedId(upstreams, upstream, () => assertIdentifier([...namespace, name]))
        if (id !== undefined) yield id
      }
    }
  }
}

/**
 * Yields the versions of each branch of a table, those of the main branch, whose name is empty, first. Yields nothing for
 * a table that was removed meanwhile. Throws like `listUpstreamTables`.
 */
export async function* listUpstreamVersions(
  id: Identifier,
  client: OwnClient,
): AsyncGenerator<{ readonly branch: string; readonly versions: readonly ListedVersion[] }, void> {
  const branches = ['']
  for await (const { status, body } of client.readPages(listBranches, id)) {
    // The catalog has no branches.
    if (status === 404 || status === 405 || status === 406 || status === 501) break
    const found = getMember(body, 'branches')
    if (status !== 200 || !isObject(found)) throw unexpectedStatus(listBranches, status)
    branches.push(...Object.keys(found).filter((name) => name !== 'main'))
  }
  for (const branch of branches) {
    const versions: ListedVersion[] = []
    for await (const { status, body } of client.readPages(listVersions, id, {
      limit: versionsPageSize,
      branch,
    })) {
      if (status === 404) break
      const page = getMember(body, 'versions')
      if (status !== 200 || !Array.isArray(page)) throw unexpectedStatus(listVersions, status)
      versions.push(...page.map(readListedVersion))
    }
    yield { branch, versions }
  }
}

function readListedVersion(listed: unknown): ListedVersion {
  const version = getMember(listed, 'version')
  if (typeof version !== 'number') throw new Error('the upstream lists a version without a number')
  const millis = getMember(listed, 'timestamp_millis')
  const time = typeof millis === 'number' ? millis : Date.parse(String(getMember(listed, 'timestamp')))
  return { version, time: Number.isNaN(time) ? undefined : time }
}

function unexpectedStatus({ name }: Operation, status: number): Error {
  return new Error(`the upstream returned status ${status} to ${name}`)
}
