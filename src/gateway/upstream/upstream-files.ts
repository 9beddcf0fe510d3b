import { type FollowSetting, fixed, type Followed } from '../../lib/fs/follow-files.ts'
import { readHeaderValue } from '../../lib/fs/read-secret.ts'
import type { Outbound } from '../../lib/outbound/outbound.ts'
import { createSocketOpener } from '../../lib/outbound/socket-opener.ts'
import { listTlsFiles, readTlsFiles, type TlsMaterial } from '../../lib/tls/certificates.ts'
import { findCredentialProblem, type UpstreamSettings } from '../../config/index.ts'
import type { UpstreamOptions } from './upstream.ts'

/**
 * Reads the files that the settings name, with `follow`. Throws what reading throws, and for a certificate, an authority
 * or a key that cannot be used. `onCertificate` gets the certificate of the gateway, now and after each change.
 */
export async function readUpstreamOptions(
  settings: UpstreamSettings,
  outbound: Outbound,
  follow: FollowSetting,
  onCertificate: (pem: string | undefined) => void = () => undefined,
): Promise<UpstreamOptions> {
  const setting = `upstreams.${settings.name}`
  const material: Followed<TlsMaterial> = await follow({
    setting: `${setting}.tls`,
    files: listTlsFiles(settings),
    read: () => readTlsFiles(settings, 'for the upstream'),
    onChange: ({ cert }) => onCertificate(cert),
  })
  onCertificate(material.current.cert)
  const opener = createSocketOpener(outbound, material)
  return {
    ...settings,
    opener,
    credentials: await followCredential(settings, `${setting}.credential`, follow),
  }
}

function followCredential(
  { credential }: UpstreamSettings,
  setting: string,
  follow: FollowSetting,
): Promise<Followed<readonly string[]>> | Followed<readonly string[]> {
  if (credential === undefined) return fixed([])
  const { header, file, value = '' } = credential
  if (file === undefined) return fixed([header, value.trim()])
  return follow({ setting, files: [file], read: async () => [header, await readCredential(header, file)] })
}

/** A file with a token alone, as a Secret or a service account has it, is a Bearer token (RFC 6750). */
async function readCredential(header: string, file: string): Promise<string> {
  const value = await readHeaderValue(file)
  return findCredentialProblem(header, value) === undefined ? value : `Bearer ${value}`
}
