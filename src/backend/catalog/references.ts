import { canonicalizeBranch, CatalogError, invalidInput, quoteForMessage } from 'catalog-gateway/catalog-api'
import { deleteVersionRecords } from '../database/versions.ts'
import { findManifest } from '../engine/manifest/manifest-files.ts'
import { tableLocation, type CatalogContext, branchNotFoundError, mainBranch } from './context.ts'
import { requireTable, requireTableWithData, resolvePoint, requireTag } from './find-table.ts'
import { pageByName } from './pages.ts'
import type { Operations } from './operations.ts'
import { changeReferences, lockTables } from './table-locks.ts'

export const referenceOperations = {
  /** Lists the tags in the order of their names. The token is the last name. */
  async ListTableTags(context, { id, request }) {
    const table = await requireTable(context.database, id)
    const all = [...(await context.engine.tags.list(tableLocation(context, table)))]
    const { entries, token } = pageByName(all, ([name]) => name, request)
    const tags = entries.map(([name, { version, manifestSize, branch }]) => [
      name,
      { version, manifestSize, branch: branch || undefined },
    ])
    return { tags: Object.fromEntries(tags), ...token }
  },

  /** Returns the version of a tag, and its branch unless that is main. Throws TableTagNotFound (404). */
  async GetTableTagVersion(context, { id, request: { tag } }) {
    const table = await requireTable(context.database, id)
    const { version, branch } = await requireTag(context, tableLocation(context, table), tag)
    return { version, branch: branch || undefined }
  },

  /** Throws TableTagAlreadyExists (409), TableVersionNotFound or TableBranchNotFound (404). */
  async CreateTableTag(context, { id, request: { tag, version, branch } }) {
    return await changeReferences(context, id, async (table) => {
      const point = await resolvePoint(context, table, { version, branch })
      await context.engine.tags.create({ ...point, version }, tag)
      return {}
    })
  },

  /** Moves a tag to another version. Throws TableTagNotFound, and like `createTableTag`. */
  async UpdateTableTag(context, { id, request: { tag, version, branch } }) {
    return await changeReferences(context, id, async (table) => {
      await requireTag(context, tableLocation(context, table), tag)
      const point = await resolvePoint(context, table, { version, branch })
      await context.engine.tags.update({ ...point, version }, tag)
      return {}
    })
  },

  /** Deletes a tag, not its version. Throws TableTagNotFound (404). */
  async DeleteTableTag(context, { id, request: { tag } }) {
    return await changeReferences(context, id, async (table) => {
      const location = tableLocation(context, table)
      // The engine fails otherwise with a name that no tag can have.
      await requireTag(context, location, tag)
      await context.engine.tags.delete(location, tag)
      return {}
    })
  },

  /** Lists the branches except main, in the order of their names. The token is the last name. */
  async ListTableBranches(context, { id, request }) {
    const table = await requireTable(context.database, id)
    const all = [...(await context.engine.branches.list(tableLocation(context, table)))]
    const { entries, token } = pageByName(all, ([name]) => name, request)
    const branches = entries.map(([name, branch]) => [
      name,
      {
        parentBranch: branch.parentBranch || undefined,
        parentVersion: branch.parentVersion,
        createAt: branch.createAt,
        manifestSize: branch.manifestSize,
        metadata: branch.metadata ?? {},
      },
    ])
    return { branches: Object.fromEntries(branches), ...token }
  },

  /**
   * Creates a branch at a version, by default the newest one of main. A name counts as taken while versions have it, for
   * example of a branch that a client is creating or was creating when it ended; deleting the branch frees the name.
   * Throws TableBranchAlreadyExists (409), TableBranchNotFound or TableVersionNotFound (404).
   */
  async CreateTableBranch(context, { id, request: { name, from_branch: branch, from_version: version } }) {
    return await changeReferences(context, id, async (table) => {
      const location = tableLocation(context, table)
      if (await branchExists(context, location, name)) {
        throw new CatalogError(
          'TableBranchAlreadyExists',
          `the table already has the branch ${quoteForMessage(name)}`,
        )
      }
      await context.engine.branches.create(await resolvePoint(context, table, { branch, version }), name)
      return {}
    })
  },

  /** Throws TableBranchNotFound (404), and InvalidInput (400) if other branches or tags depend on it. */
  async DeleteTableBranch(context, { id, request: { name } }) {
    if (canonicalizeBranch(name) === mainBranch) throw invalidInput('the main branch cannot be deleted')
    const table = await requireTableWithData(context, id)
    return await lockTables(context, [table], async () => {
      const location = tableLocation(context, table)
      if (!(await branchExists(context, location, name))) throw branchNotFoundError(name)
      const tags = await context.engine.tags.list(location)
      const [tag] = [...tags].find(([, { branch }]) => branch === name) ?? []
      if (tag !== undefined)
        throw invalidInput(`the tag ${quoteForMessage(tag)} refers to the branch; delete it first`)
      await context.engine.branches.delete(location, name)
      const branch = { objectId: table.objectId, branch: name }
      await deleteVersionRecords(context.database, branch, [0, Number.MAX_SAFE_INTEGER])
      return {}
    })
  },
} satisfies Operations

async function branchExists(context: CatalogContext, location: string, name: string): Promise<boolean> {
  if ((await context.engine.branches.find(location, name)) !== undefined) return true
  return (await findManifest(context.storage, { location, branch: name })) !== undefined
}
