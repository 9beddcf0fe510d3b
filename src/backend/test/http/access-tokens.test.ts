import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createFileFollower } from '../../../lib/fs/follow-files.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { openAccessTokens } from '../../http/access-tokens.ts'
import { runningBackend } from '../support/running-backend.ts'

const [old, next] = ['the-old-access-token', 'the-new-access-token']

it('a rotation accepts both tokens, then refuses the old one', async () => {
  const folder = await temporaryFolder()
  const accessTokenFiles = [join(folder, 'token'), join(folder, 'additional-token')] as const
  await writeFile(accessTokenFiles[0], `${old}\n`)
  const { get } = await runningBackend({ accessTokenFiles })
  const statuses = () =>
    Promise.all(
      [old, next].map(async (token) => {
        const headers = { authorization: `Bearer ${token}` }
        return (await get('/v1/namespace/$/list', headers)).status
      }),
    )
  expect(await statuses()).toEqual([200, 401])
  await writeFile(accessTokenFiles[1], next)
  await eventually(async () => expect(await statuses()).toEqual([200, 200]))
  await writeFile(accessTokenFiles[0], next)
  await rm(accessTokenFiles[1])
  await eventually(async () => expect(await statuses()).toEqual([401, 200]))
})

it('an invalid token is reported, and the last ones stay; none at the start is an error', async () => {
  const file = join(await temporaryFolder(), 'token')
  const failures: string[] = []
  const files = createFileFollower({ info: () => undefined, error: ({ error }) => failures.push(error) })
  onTestFinished(() => files.close())
  const open = () => openAccessTokens({ accessToken: undefined, accessTokenFiles: [file] }, files.follow)
  await expect(open()).rejects.toThrow('expected an access token in')
  await writeFile(file, old)
  const tokens = await open()
  await writeFile(file, 'short')
  await eventually(() => expect(failures.join()).toContain('expected one token of 16 characters or more'))
  expect(tokens.current).toEqual([old])
})
