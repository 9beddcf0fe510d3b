import { deepEqual, equal, ok as assert } from 'node:assert/strict'
import { rows } from '../sample-rows.ts'
import { cases, type World } from '../world.ts'

/** Creates a table with the tag `first` on version 1 of 2. */
async function tagged({ ok, table }: World): Promise<readonly string[]> {
  const id = await table(3)
  await ok('InsertIntoTable', id, { body: rows(1) })
  await ok('CreateTableTag', id, { body: { tag: 'first', version: 1 } })
  return id
}

/** Creates a table with the branch `draft`. */
async function branched({ ok, table }: World): Promise<readonly string[]> {
  const id = await table(3)
  await ok('CreateTableBranch', id, { body: { name: 'draft' } })
  return id
}

const tag = (name: string, version: number) => ({ body: { tag: name, version } })
const from = (members: object) => ({ body: { name: 'other', ...members } })

const badNames = ['', 'a b', '.a', 'a.', 'a..b', 'a.lock', '../a']

/** The operations on tags and branches (interface section 2.8). */
export const tagAndBranchCases = cases({
  CreateTableTag: {
    'it names its version': async (world) => {
      const id = await tagged(world)
      equal((await world.ok('GetTableTagVersion', id, { body: { tag: 'first' } }))['version'], 1)
    },
    'a name that is taken or no name, and a version that does not exist, are refused': async (world) => {
      const id = await tagged(world)
      await world.refused('CreateTableTag', id, tag('first', 2), 'TableTagAlreadyExists')
      await world.refused('CreateTableTag', id, tag('second', 99), 'TableVersionNotFound')
      await world.refused('CreateTableTag', id, tag('second', 0), 'InvalidInput')
      for (const name of [...badNames, 'a/b'])
        await world.refused('CreateTableTag', id, tag(name, 1), 'InvalidInput')
    },
  },
  ListTableTags: {
    'tags by name, by POST and GET': async (world) => {
      const id = await tagged(world)
      for (const method of ['GET', 'POST']) {
        const tags = (await world.ok('ListTableTags', id, { method }))['tags'] as Record<
          string,
          { version: number }
        >
        deepEqual([Object.keys(tags), tags['first']?.version], [['first'], 1])
      }
    },
  },
  GetTableTagVersion: {
    'one that is not there is refused': ({ refused, standing }) =>
      refused('GetTableTagVersion', standing, { body: { tag: 'absent' } }, 'TableTagNotFound'),
  },
  UpdateTableTag: {
    'it names another version': async (world) => {
      const id = await tagged(world)
      await world.ok('UpdateTableTag', id, { body: { tag: 'first', version: 2 } })
      equal((await world.ok('GetTableTagVersion', id, { body: { tag: 'first' } }))['version'], 2)
    },
    'tags and versions that are not there are refused': async (world) => {
      const id = await tagged(world)
      const absent = { body: { tag: 'absent', version: 1 } }
      await world.refused('UpdateTableTag', id, absent, 'TableTagNotFound')
      await world.refused(
        'UpdateTableTag',
        id,
        { body: { tag: 'first', version: 99 } },
        'TableVersionNotFound',
      )
    },
  },
  DeleteTableTag: {
    'it is gone afterwards': async (world) => {
      const id = await tagged(world)
      await world.ok('DeleteTableTag', id, { body: { tag: 'first' } })
      await world.refused('DeleteTableTag', id, { body: { tag: 'first' } }, 'TableTagNotFound')
    },
  },
  CreateTableBranch: {
    'rows in it are not in main': async (world) => {
      const id = await branched(world)
      await world.ok('InsertIntoTable', id, { body: rows(2), query: { branch: 'draft' } })
      equal((await world.call('CountTableRows', id, { body: { branch: 'draft' } })).json, 5)
      equal((await world.call('CountTableRows', id, { body: {} })).json, 3)
    },
    'a name that is taken or no name is refused': async (world) => {
      const id = await branched(world)
      await world.refused('CreateTableBranch', id, { body: { name: 'draft' } }, 'TableBranchAlreadyExists')
      for (const name of [...badNames, 'main', '/a', 'a//b']) {
        await world.refused('CreateTableBranch', id, { body: { name } }, 'InvalidInput')
      }
    },
    'it needs a branch and a version to begin at': async ({ refused, standing }) => {
      await refused('CreateTableBranch', standing, from({ from_branch: 'absent' }), 'TableBranchNotFound')
      await refused('CreateTableBranch', standing, from({ from_version: 99 }), 'TableVersionNotFound')
    },
  },
  ListTableBranches: {
    'branches by name, each with its parent and its age in seconds': async (world) => {
      const id = await branched(world)
      for (const parts of [{ method: 'GET' }, { body: { id, page_token: null } }, { body: undefined }]) {
        const { branches } = await world.ok('ListTableBranches', id, parts)
        const draft = (branches as Record<string, { parentVersion: number; createAt: number }>)['draft']
        equal(draft?.parentVersion, 1)
        assert(Math.abs((draft?.createAt ?? 0) - Date.now() / 1000) < 86_400)
      }
    },
  },
  DeleteTableBranch: {
    'it is gone afterwards': async (world) => {
      const id = await branched(world)
      await world.ok('DeleteTableBranch', id, { body: { name: 'draft' } })
      await world.refused('DeleteTableBranch', id, { body: { name: 'draft' } }, 'TableBranchNotFound')
    },
    'main stays': ({ refused, standing }) =>
      refused('DeleteTableBranch', standing, { body: { name: 'main' } }, 'InvalidInput'),
  },
})
