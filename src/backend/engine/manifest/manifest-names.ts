import type { NamingScheme } from './manifest-records.ts'

const largestVersion = 0xffffffffffffffffn
const manifestName = /^(\d{1,20})\.manifest$/
const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const stagingName = new RegExp(`^(.+\\.manifest)-${uuid}$`, 'i')

export function formatManifestName(version: number, scheme: NamingScheme): string {
  const number = scheme === 'V1' ? BigInt(version) : largestVersion - BigInt(version)
  return `${number.toString().padStart(scheme === 'V1' ? 1 : 20, '0')}.manifest`
}

export function parseManifestName(name: string): { version: number; namingScheme: NamingScheme } | undefined {
  const digits = manifestName.exec(name)?.[1]
  if (digits === undefined) return undefined
  const namingScheme = digits.length === 20 ? 'V2' : 'V1'
  const version = Number(namingScheme === 'V2' ? largestVersion - BigInt(digits) : digits)
  return Number.isSafeInteger(version) && version >= 0 ? { version, namingScheme } : undefined
}

/** Returns the final name of a staging file `<final name>-<uuid>`; undefined for other names. */
export function parseStagingName(staging: string): string | undefined {
  return stagingName.exec(staging)?.[1]
}
