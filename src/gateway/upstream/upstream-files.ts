import { readFile } from 'node:fs/promises'
import { resolveAddressFiles } from '../../config/catalog-address-settings.ts'
import { absoluteTlsFiles, readTlsFiles } from '../../lib/tls/tls-files.ts'
import type { UpstreamSettings } from '../../config/upstream-settings.ts'
import type { UpstreamOptions } from './upstream.ts'

/** Returns the settings with absolute file paths. */
export function resolveUpstreamPaths(
  settings: UpstreamSettings,
  absolute: (path: string) => string,
): UpstreamSettings {
  return { ...resolveAddressFiles(settings, absolute), ...absoluteTlsFiles(settings, absolute) }
}

/** Lists the files that the settings name. */
export function listUpstreamFiles({ caFile, clientCertificate, credential }: UpstreamSettings): string[] {
  const files = [caFile, clientCertificate?.certFile, clientCertificate?.keyFile, credential?.file]
  return files.filter((file) => file !== undefined)
}

/** Reads the files that the settings name. Throws errors of reading, and for an unusable certificate, CA or key. */
export async function readUpstreamOptions(settings: UpstreamSettings): Promise<UpstreamOptions> {
  const { serverName, credential } = settings
  const tls = { ...(await readTlsFiles(settings, 'for the upstream')), servername: serverName }
  const value = credential?.file === undefined ? credential?.value : await readFile(credential.file, 'utf8')
  return { ...settings, tls, credentials: credential ? [credential.header, (value ?? '').trim()] : [] }
}
