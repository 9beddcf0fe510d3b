import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { readOnce } from '../../../lib/fs/follow-files.ts'
import { openOutbound } from '../../../outbound/outbound.ts'
import { startConnectProxy } from '../../../../test/support/connect-proxy.ts'
import { temporaryFolder } from '../../../../test/support/temporary-folder.ts'
import { dataSchema } from '../../settings/backend-settings.ts'
import { openStorage } from '../../storage/open-storage.ts'

it('the token of a workload is exchanged for credentials through the proxy of the settings', async () => {
  const tokenFile = join(await temporaryFolder(), 'token')
  await writeFile(tokenFile, 'token')
  onTestFinished(() => {
    vi.unstubAllEnvs()
  })
  vi.stubEnv('AWS_WEB_IDENTITY_TOKEN_FILE', tokenFile)
  vi.stubEnv('AWS_ROLE_ARN', 'arn:aws:iam::123456789012:role/tables')
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
  const proxy = await startConnectProxy({ hosts: {} })
  const outbound = await openOutbound({ proxy: { url: proxy.url } }, {}, readOnce)
  const data = dataSchema.parse({ s3: { location: 's3://bucket/prefix', region: 'eu-central-1' } })
  await expect(openStorage(data, outbound)).rejects.toThrow('cannot be used')
  expect(new Set(proxy.requested)).toEqual(new Set(['sts.eu-central-1.amazonaws.com:443']))
})
