import { expect, it, onTestFinished } from 'vitest'
import { respondWith, startRecordingUpstream } from '../../../../test/gateway/support/recording-upstream.ts'
import { runningAdapter } from './running-adapter.ts'

it('versions get what older remote clients cannot do without', async () => {
  const upstream = await startRecordingUpstream()
  onTestFinished(() => upstream.close())
  const { post } = await runningAdapter(upstream.url)
  const manifest_path = 'lake/t.lance/_versions/1.manifest'
  const bare = { version: 1, manifest_path, timestamp_millis: 1_795_629_654_617 }
  const complete = {
    version: 2,
    manifest_path,
    timestamp_millis: 5,
    timestamp: 'theirs',
    metadata: { rows: '3' },
  }
  upstream.answering = respondWith(200, { versions: [bare, complete, { version: 3, manifest_path }] })
  const list = async (headers: Record<string, string>) =>
    (await post('/v1/table/t/version/list', undefined, headers)).json
  expect(await list({ 'x-lancedb-database': 'any' })).toEqual({
    versions: [
      { ...bare, timestamp: '2026-11-25T18:00:54.617Z', metadata: {} },
      complete,
      { version: 3, manifest_path, metadata: {} },
    ],
  })
  expect(await list({})).toEqual({ versions: [bare, complete, { version: 3, manifest_path }] })
})
