/** How many registrations a sweep deletes per minute. Gitea answers each deletion in some milliseconds. Other clients must notice nothing. */
export const DEFAULT_BUDGET = 60;
export const LARGEST_BUDGET = 600;
