/** Formats a number of bytes in the largest binary unit that keeps it whole: `512 MiB`, `1000 bytes`. */
export function formatBytes(bytes: number): string {
  const [size, unit] = units.find(([each]) => bytes >= each && bytes % each === 0) ?? [1, 'bytes']
  return `${bytes / size} ${unit}`
}

const units: readonly (readonly [size: number, name: string])[] = [
  [1024 ** 3, 'GiB'],
  [1024 ** 2, 'MiB'],
  [1024, 'KiB'],
]
