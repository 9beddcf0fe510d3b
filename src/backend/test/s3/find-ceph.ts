import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const programs = ['monmaptool', 'ceph', 'ceph-mon', 'ceph-osd', 'radosgw', 'radosgw-admin']

/** Whether this machine has Ceph with its object gateway, the object store of the tests. */
export function hasCeph(): boolean {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  return programs.every((name) => folders.some((folder) => isProgram(join(folder, name))))
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
