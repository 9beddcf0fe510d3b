import { permissionNames, type Permission } from '../interface/permissions.ts'

/**
 * Permissions as bits of two numbers: what a decision asks of every rule on its way takes no look-up, and no memory
 * that another policy could not share.
 */
export interface PermissionBits {
  readonly low: number
  readonly high: number
}

const bitsInOne = 31
if (permissionNames.length > 2 * bitsInOne) throw new Error('there are more permissions than bits')

const bitsByName = new Map(permissionNames.map((name, index) => [name, bitAt(index)]))

/** The bit of one permission. */
export function bitOf(permission: Permission): PermissionBits {
  return bitsByName.get(permission) ?? none
}

const bitsBySet = new WeakMap<ReadonlySet<Permission>, PermissionBits>()

/** The bits of several permissions; remembered for as long as the set is there, which must not change. */
export function bitsOf(permissions: ReadonlySet<Permission>): PermissionBits {
  let bits = bitsBySet.get(permissions)
  if (bits === undefined) bitsBySet.set(permissions, (bits = joined(permissions)))
  return bits
}

function joined(permissions: ReadonlySet<Permission>): PermissionBits {
  let low = 0
  let high = 0
  for (const permission of permissions) {
    const bit = bitOf(permission)
    low |= bit.low
    high |= bit.high
  }
  return { low, high }
}

/** No permission. */
export const none: PermissionBits = Object.freeze({ low: 0, high: 0 })

/** The permissions of both. */
export function withBits(one: PermissionBits, other: PermissionBits): PermissionBits {
  return { low: one.low | other.low, high: one.high | other.high }
}

/** Whether both have a permission in common. */
export function meet(one: PermissionBits, other: PermissionBits): boolean {
  return (one.low & other.low) !== 0 || (one.high & other.high) !== 0
}

function bitAt(index: number): PermissionBits {
  return index < bitsInOne ? { low: 1 << index, high: 0 } : { low: 0, high: 1 << (index - bitsInOne) }
}
