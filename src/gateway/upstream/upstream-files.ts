import { readFile } from 'node:fs/promises'
import { readTlsFiles } from '../../lib/tls/tls-files.ts'
import type { UpstreamSettings } from '../../config/upstream/upstream-settings.ts'
import type { UpstreamOptions } from './upstream.ts'

/**
 * Reads the files that the settings name. Throws what reading throws, and for a certificate, an authority or a key
 * that cannot be used.
 */
export async function readUpstreamOptions(settings: UpstreamSettings): Promise<UpstreamOptions> {
  const { serverName, credential } = settings
  const tls = { ...(await readTlsFiles(settings, 'for the upstream')), servername: serverName }
  const value = credential?.file === undefined ? credential?.value : await readFile(credential.file, 'utf8')
  return { ...settings, tls, credentials: credential ? [credential.header, (value ?? '').trim()] : [] }
}
