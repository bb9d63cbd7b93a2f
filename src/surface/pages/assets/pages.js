// Everything works without this: "/" goes to the search box, and waiting is told when it is over.
"use strict";

const box = document.getElementById("q");

document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof Element &&
        event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        box.focus();
        box.select();
    }
});

function left(seconds) {
    const minutes = Math.floor(seconds / 60);
    const rest = seconds % 60;
    const words = [];
    if (minutes > 0) {
        words.push(minutes === 1 ? "1 minute" : `${minutes} minutes`);
    }
    if (rest > 0 || minutes === 0) {
        words.push(rest === 1 ? "1 second" : `${rest} seconds`);
    }
    return words.join(" ");
}

const clock = document.querySelector(".clock");
if (clock !== null) {
    const until = performance.now() + Number(clock.dataset.seconds) * 1000;
    const over = document.querySelector(".over");
    // A status is announced when its text changes, so the text comes when it is true.
    const text = over.textContent;
    over.textContent = "";
    document.documentElement.classList.add("scripted");
    const tick = () => {
        const seconds = Math.ceil((until - performance.now()) / 1000);
        if (seconds <= 0) {
            document.querySelector(".wait").hidden = true;
            over.textContent = text;
            return;
        }
        clock.textContent = left(seconds);
        setTimeout(tick, (until - performance.now()) % 1000 + 20);
    };
    tick();
}
