import { activityTable } from '../data/activities.ts'
import type { City } from './places.ts'
import { rows } from './table.ts'

const activities = rows(activityTable).map((row) => ({
  city: row.text(0),
  category: row.text(1),
  places: row
    .text(2)
    .split(';')
    .map((place) => place.trim()),
}))

/** Categories with activities: of one city, or of all. */
export function categoriesOf(city?: City): string[] {
  return [
    ...new Set(
      activities
        .filter((one) => city === undefined || one.city === city.code)
        .map(({ category }) => category),
    ),
  ]
}

/** Places to visit in a city; none if the table has no such city or category. */
export function activitiesIn(city: City, category: string): readonly string[] {
  return (
    activities.find((one) => one.city === city.code && one.category === category.toLowerCase())?.places ?? []
  )
}

/** Codes of the cities with activities. */
export const activityCities: ReadonlySet<string> = new Set(activities.map(({ city }) => city))
