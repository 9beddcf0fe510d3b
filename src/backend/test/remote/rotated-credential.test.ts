import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import {
  getHeaderValues,
  respondWith,
  startRecordingUpstream,
} from '../../../../test/gateway/support/recording-upstream.ts'
import { reloadFiles } from '../../../lib/fs/reload.ts'
import { runningAdapter } from './running-adapter.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { eventually } from '../../../../test/support/eventually.ts'

it('the credential for a remote catalog follows its file, and an empty file keeps the last one', async () => {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  upstream.answering = respondWith(200, '{"namespaces":[]}')
  const file = join(await temporaryFolder(), 'credential')
  await writeFile(file, 'Bearer one')
  const { get } = await runningAdapter(upstream.url, { credential: { file } })
  const sentCredential = async (): Promise<readonly string[]> => {
    await get('/v1/namespace/n/list')
    return getHeaderValues(upstream.requests.at(-1) ?? { rawHeaders: [] }, 'authorization')
  }
  expect(await sentCredential()).toEqual(['Bearer one'])
  await writeFile(file, 'Bearer two\n')
  await eventually(async () => expect(await sentCredential()).toEqual(['Bearer two']))
  await writeFile(file, '')
  await reloadFiles()
  expect(await sentCredential()).toEqual(['Bearer two'])
})
