import { CatalogError, optionsFor } from '../../catalog-api/catalog-error.ts'

/** The shared limits cannot be reached, and the settings refuse requests then: 503 with `retry-after`. */
export class LimitsUnavailable extends CatalogError {
  constructor() {
    super(
      'ServiceUnavailable',
      'shared limits are unavailable; retry later',
      optionsFor('shared_limits_unavailable'),
    )
  }
}
