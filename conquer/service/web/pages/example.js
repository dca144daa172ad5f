// Something to pick from before one has a file of one's own: lines for a tea shop's window.
export const question = "Which line would you put in the window?";
export const lines = [
  "Tea that waits for you.", "Leaves first, hurry later.", "A quiet cup for a loud day.", "Grown slowly, poured quickly.",
  "Forty teas and one good chair.", "Smoke, honey, rain: pick one.", "We weigh leaves, not words.", "The kettle is already on.",
  "Green before noon, black before dusk.", "Come in for the warmth, stay for the second pot.", "No bags. No fuss. No sugar unless you ask.",
  "Picked in spring, opened today.", "Every cup tastes of somewhere.", "Steeped three minutes, remembered longer.",
  "Ask us for something you cannot pronounce.", "Cheaper than a holiday, shorter than a nap.", "Old leaves, new friends.",
  "The best seat is by the window.", "Good tea is mostly patience.", "BUY TEA NOW!!! LOWEST PRICES!!!",
].map((text, k) => ({ id: `line-${k + 1}`, text }));
