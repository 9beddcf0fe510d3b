import { deepEqual, equal, ok as assert } from 'node:assert/strict'
import { rows } from '../sample-rows.ts'
import { cases, type Fixture } from '../fixture.ts'

/** Creates a table with the tag `first` on version 1 of 2. */
async function tagged({ ok, table }: Fixture): Promise<readonly string[]> {
  const id = await table(3)
  await ok('InsertIntoTable', id, { body: rows(1) })
  await ok('CreateTableTag', id, { body: { tag: 'first', version: 1 } })
  return id
}

async function branched({ ok, table }: Fixture): Promise<readonly string[]> {
  const id = await table(3)
  await ok('CreateTableBranch', id, { body: { name: 'draft' } })
  return id
}

const tag = (name: string, version: number) => ({ body: { tag: name, version } })
const from = (members: object) => ({ body: { name: 'other', ...members } })

const badNames = ['', 'a b', '.a', 'a.', 'a..b', 'a.lock', '../a']

export const tagAndBranchCases = cases({
  CreateTableTag: {
    'creates a tag of a version': async (fixture) => {
      const id = await tagged(fixture)
      equal((await fixture.ok('GetTableTagVersion', id, { body: { tag: 'first' } }))['version'], 1)
    },
    'rejects an existing name, an invalid name and a missing version': async (fixture) => {
      const id = await tagged(fixture)
      await fixture.expectError('CreateTableTag', id, tag('first', 2), 'TableTagAlreadyExists')
      await fixture.expectError('CreateTableTag', id, tag('second', 99), 'TableVersionNotFound')
      await fixture.expectError('CreateTableTag', id, tag('second', 0), 'InvalidInput')
      for (const name of [...badNames, 'a/b'])
        await fixture.expectError('CreateTableTag', id, tag(name, 1), 'InvalidInput')
    },
  },
  ListTableTags: {
    'lists tags by name, with POST and GET': async (fixture) => {
      const id = await tagged(fixture)
      for (const method of ['GET', 'POST']) {
        const tags = (await fixture.ok('ListTableTags', id, { method }))['tags'] as Record<
          string,
          { version: number }
        >
        deepEqual([Object.keys(tags), tags['first']?.version], [['first'], 1])
      }
    },
  },
  GetTableTagVersion: {
    'returns the version that a tag names': async (fixture) => {
      const id = await tagged(fixture)
      equal((await fixture.ok('GetTableTagVersion', id, { body: { tag: 'first' } }))['version'], 1)
    },
    'rejects a missing tag': ({ rejects, sampleTable }) =>
      rejects('GetTableTagVersion', sampleTable, { tag: 'absent' }, 'TableTagNotFound'),
  },
  UpdateTableTag: {
    'moves the tag to another version': async (fixture) => {
      const id = await tagged(fixture)
      await fixture.ok('UpdateTableTag', id, { body: { tag: 'first', version: 2 } })
      equal((await fixture.ok('GetTableTagVersion', id, { body: { tag: 'first' } }))['version'], 2)
    },
    'rejects missing tags and versions': async (fixture) => {
      const id = await tagged(fixture)
      const absent = { body: { tag: 'absent', version: 1 } }
      await fixture.expectError('UpdateTableTag', id, absent, 'TableTagNotFound')
      await fixture.rejects('UpdateTableTag', id, { tag: 'first', version: 99 }, 'TableVersionNotFound')
    },
  },
  DeleteTableTag: {
    'deletes it': async (fixture) => {
      const id = await tagged(fixture)
      await fixture.ok('DeleteTableTag', id, { body: { tag: 'first' } })
      await fixture.rejects('DeleteTableTag', id, { tag: 'first' }, 'TableTagNotFound')
    },
  },
  CreateTableBranch: {
    'separates rows of the branch from main': async (fixture) => {
      const id = await branched(fixture)
      await fixture.ok('InsertIntoTable', id, { body: rows(2), query: { branch: 'draft' } })
      equal((await fixture.call('CountTableRows', id, { body: { branch: 'draft' } })).json, 5)
      equal((await fixture.call('CountTableRows', id, { body: {} })).json, 3)
    },
    'rejects an existing name and an invalid name': async (fixture) => {
      const id = await branched(fixture)
      await fixture.rejects('CreateTableBranch', id, { name: 'draft' }, 'TableBranchAlreadyExists')
      for (const name of [...badNames, 'main', '/a', 'a//b']) {
        await fixture.rejects('CreateTableBranch', id, { name }, 'InvalidInput')
      }
    },
    'rejects a missing source branch and a missing version': async ({ expectError, sampleTable }) => {
      const [branch, version] = [from({ from_branch: 'absent' }), from({ from_version: 99 })]
      await expectError('CreateTableBranch', sampleTable, branch, 'TableBranchNotFound')
      await expectError('CreateTableBranch', sampleTable, version, 'TableVersionNotFound')
    },
  },
  ListTableBranches: {
    'lists branches by name, with parent and age in seconds': async (fixture) => {
      const id = await branched(fixture)
      for (const parts of [{ method: 'GET' }, { body: { id, page_token: null } }, { body: undefined }]) {
        const { branches } = await fixture.ok('ListTableBranches', id, parts)
        const draft = (branches as Record<string, { parentVersion: number; createAt: number }>)['draft']
        equal(draft?.parentVersion, 1)
        assert(Math.abs((draft?.createAt ?? 0) - Date.now() / 1000) < 86_400)
      }
    },
  },
  DeleteTableBranch: {
    'deletes it': async (fixture) => {
      const id = await branched(fixture)
      await fixture.ok('DeleteTableBranch', id, { body: { name: 'draft' } })
      await fixture.rejects('DeleteTableBranch', id, { name: 'draft' }, 'TableBranchNotFound')
    },
    'rejects deleting main': ({ rejects, sampleTable }) =>
      rejects('DeleteTableBranch', sampleTable, { name: 'main' }, 'InvalidInput'),
  },
})
