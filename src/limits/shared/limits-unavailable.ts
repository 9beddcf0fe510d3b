import { CatalogError, getRefusalOptions } from '../../catalog-api/catalog-error.ts'

/** The shared limits are unreachable, and the settings refuse requests in this case: 503 with `retry-after`. */
export class LimitsUnavailable extends CatalogError {
  constructor() {
    super(
      'ServiceUnavailable',
      'shared limits are unavailable; retry later',
      getRefusalOptions('shared_limits_unavailable'),
    )
  }
}
