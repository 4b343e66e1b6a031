/** How many registrations a sweep deletes per minute. Gitea answers each deletion in some milliseconds; other clients shall notice nothing. */
export const DEFAULT_BUDGET = 60;
export const LARGEST_BUDGET = 600;
